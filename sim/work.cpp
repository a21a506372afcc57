#include "sim/work.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

#include <pthread.h>
#include <sys/prctl.h>

#include "sim/capture.hpp"
#include "sim/context.hpp"
#include "sim/driver.hpp"
#include "sim/error.hpp"

namespace dunnage::sim {
namespace {

bool all_done(const std::vector<std::shared_ptr<Work>>& works) {
  return std::all_of(works.begin(), works.end(), [](const auto& work) { return work->done; });
}

void execute(Work& work, Context& context, std::unique_lock<std::mutex>& lock) {
  auto result = work.fault;
  if (context.dead == CUDA_SUCCESS) {
    lock.unlock();
    std::this_thread::sleep_for(work.delay);
    if (result == CUDA_SUCCESS && work.run) try {
        work.run();
      } catch (const Error& error) {
        result = error.code;
      }
    lock.lock();
    if (result != CUDA_SUCCESS) context.fail(result);
  }
  work.run = nullptr;
  work.after.clear();
  work.finished = std::chrono::steady_clock::now();
  work.done = true;
}

bool may_begin(const Stream& stream, const std::shared_ptr<Work>& work) {
  return !stream.connection || stream.connection->queue.front() == work;
}

// The first piece of work leaves a connection, and the next one may begin.
void leave(const Stream& stream) {
  if (!stream.connection) return;
  stream.connection->queue.pop_front();
  driver().changed.notify_all();
}

void serve(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Context>& context) {
  auto& d = driver();
  prctl(PR_SET_TIMERSLACK, 1000UL);  // or each delay would be 50 us longer
  std::unique_lock lock(d.lock);
  for (;;) {
    stream->called.wait(lock, [&] { return stream->ended || !stream->queue.empty(); });
    if (stream->queue.empty()) break;
    const auto work = stream->queue.front();
    d.changed.wait(lock, [&] { return all_done(work->after) && may_begin(*stream, work); });
    if (!work->waits) leave(*stream);
    execute(*work, *context, lock);
    if (work->waits) leave(*stream);
    stream->queue.pop_front();
    d.changed.notify_all();
  }
  std::erase(context->streams, stream);
}

// The thread blocks signals, because the program's signal handlers must not run in it.
void start(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Context>& context) {
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([stream, context] { serve(stream, context); }).detach();
    stream->started = true;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void add_unfinished(std::vector<std::shared_ptr<Work>>& to, const std::shared_ptr<Work>& work) {
  if (work && !work->done) to.push_back(work);
}

// The legacy default stream and the blocking streams wait for each other.
void add_by_legacy_rule(std::vector<std::shared_ptr<Work>>& to, const Stream& stream, const Context& context) {
  if (stream.blocking()) add_unfinished(to, context.legacy->last);
  if (!stream.legacy) return;
  for (const auto& other : context.streams)
    if (other->blocking()) add_unfinished(to, other->last);
}

std::chrono::microseconds some_delay() {
  auto& d = driver();
  return std::chrono::microseconds(std::uniform_int_distribution<std::uint64_t>(0, d.settings.delay)(d.random));
}

}  // namespace

std::shared_ptr<Work> put(const std::shared_ptr<Stream>& stream, std::function<void()> run, CUresult fault,
                          bool waits) {
  const auto context = stream->context.lock();
  require(context != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  context->check();
  if (stream->capture) {
    record(*stream, std::move(run), waits);
    return nullptr;
  }
  if (stream->legacy) forbid_legacy_in_captures(*context);
  const auto work = std::make_shared<Work>();
  const bool is_work = run != nullptr;  // and not only a mark, which need not wait for the legacy default stream
  work->run = std::move(run);
  work->fault = fault;
  work->waits = waits;
  work->delay = some_delay();
  if (is_work || stream->legacy) add_by_legacy_rule(work->after, *stream, *context);
  if (!stream->started) start(stream, context);
  stream->queue.push_back(work);
  if (stream->connection) stream->connection->queue.push_back(work);
  stream->last = work;
  stream->called.notify_all();
  return work;
}

void put_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Work>& work) {
  if (work->done) return;
  put(stream, nullptr)->after.push_back(work);
}

void wait_for(const std::shared_ptr<Work>& work, std::unique_lock<std::mutex>& lock) {
  if (work) driver().changed.wait(lock, [&] { return work->done; });
}

void wait_for_all(const Context& context, std::unique_lock<std::mutex>& lock) {
  std::vector<std::shared_ptr<Work>> works;
  for (const auto& stream : context.streams) add_unfinished(works, stream->last);
  driver().changed.wait(lock, [&] { return all_done(works); });
}

void wait_for_kernels(const std::shared_ptr<Context>& context, std::unique_lock<std::mutex>& lock) {
  if (!driver().settings.blocking) return;
  driver().changed.wait(lock, [&] { return context->running == 0 || context->dead != CUDA_SUCCESS; });
}

void wait_until_idle(const Context& context, std::unique_lock<std::mutex>& lock) {
  driver().changed.wait(lock, [&] {
    return std::all_of(context.streams.begin(), context.streams.end(), [](const auto& s) { return s->queue.empty(); });
  });
}

std::vector<std::shared_ptr<Work>> pending(const Stream& stream) {
  std::vector<std::shared_ptr<Work>> works;
  add_unfinished(works, stream.last);
  if (const auto context = stream.context.lock(); context && stream.legacy) add_by_legacy_rule(works, stream, *context);
  return works;
}

}  // namespace dunnage::sim
