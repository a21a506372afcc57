#include "tool/explain.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/format.hpp"
#include "base/settings.hpp"
#include "pack/cpu/program.hpp"
#include "pack/cuda/launch.hpp"
#include "plan/device.hpp"
#include "plan/host.hpp"
#include "plan/machine_model.hpp"
#include "tool/explain_trials.hpp"
#include "transport/ticket.hpp"
#include "type/quirks.hpp"
#include "type/text.hpp"
#include "type/typemap.hpp"

namespace dunnage::tool {
namespace {

// Above these sizes the measurement would need too much memory.
constexpr std::int64_t most_measured = std::int64_t{1} << 30;
constexpr std::int64_t most_verified = std::int64_t{1} << 24;

/// Prints the constructor tree, one constructor on each line.
void print_tree(const type::Spec& spec, int depth) {
  const auto text = type::to_text(spec, true);
  const auto own = spec.types.empty() ? text : text.substr(0, text.find('('));
  fmt::print("  {:{}}{}{}", "", 2 * depth, depth ? "of " : "", own);
  if (!spec.types.empty()) fmt::print("  size {}, lb {}, extent {}", spec.size, spec.lb, spec.extent);
  fmt::print("\n");
  for (const auto& t : spec.types) print_tree(*t, depth + 1);
}

/// Returns the median time of one call in seconds, over at least 60 ms and 5 calls. The caches stay
/// warm.
double seconds(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  const auto end = Clock::now() + std::chrono::milliseconds(60);
  call();
  while (samples.size() < 5 || Clock::now() < end) {
    const auto start = Clock::now();
    call();
    samples.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

/// A model and the MPI that it is of.
struct Named {
  std::string name;
  plan::Model model;
};
using Models = std::vector<Named>;

/// Points out where what was measured here is far from what was predicted. MPIs whose prices are
/// alike have one line.
void print_differences(const char* what, double seconds, const plan::Shape& shape, const Models& models) {
  std::vector<double> told;
  for (const auto& [name, model] : models) {
    const double predicted = plan::predict(model, shape, plan::Operation::pack).engine;
    const auto text = difference(1e9 * seconds, predicted, predicted);
    if (text.empty() || std::ranges::find(told, predicted) != told.end()) continue;
    told.push_back(predicted);
    fmt::print("{:<16}{}, {} by the figures of {}; the caches were warm\n", what, text,
               base::format_seconds(1e-9 * predicted), name);
  }
}

void measure(const type::Spec& spec, const pack::Program& program, std::int64_t count, const plan::Shape& shape,
             const Models& models) {
  const auto size = program.size(), span = program.span();
  if (span > most_measured || size > most_measured) {
    const auto needed = base::format_bytes(static_cast<std::uint64_t>(std::max(span, size)));
    fmt::print("measured         no: the buffer would take {}\n", needed);
    return;
  }
  std::vector<char> memory(static_cast<std::size_t>(span), 1), packed(static_cast<std::size_t>(size)), again(packed);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i * 2654435761u >> 13);
  // The address that a program would give MPI, such that the first touched byte is the first of our
  // memory.
  char* user = memory.data() - (program.data().offset + program.data().node->low);
  const auto pack = seconds([&] { program.pack(user, packed.data()); });
  const auto copy = seconds([&] { std::memcpy(again.data(), packed.data(), packed.size()); });
  const auto unpack = seconds([&] { program.unpack(packed.data(), user); });
  const auto rate = [&](double t) { return base::format_rate(static_cast<double>(size) / t); };
  fmt::print(
      "measured pack    {} ({})\nmeasured unpack  {} ({})\n"
      "memcpy of payload {} ({}), so packing takes {:.2f} times as long\n",
      base::format_seconds(pack), rate(pack), base::format_seconds(unpack), rate(unpack), base::format_seconds(copy),
      rate(copy), pack / copy);
  print_differences("measured pack", pack, shape, models);
  print_differences("measured unpack", unpack, shape, models);
  if (size <= most_verified) {
    type::typemap_pack(spec, count, user, again.data());
    const bool right = again == packed;
    fmt::print("verified         {}\n",
               right ? "yes, against the brute-force typemap" : "NO: the packed bytes are wrong");
  }
}

/// How a message from host memory travels within a host, or to its own sender.
std::string_view host_way(const plan::Model& model, const plan::Shape& shape, base::Tickets tickets, bool to_itself) {
  const bool announced = tickets != base::Tickets::off && shape.size >= transport::host_lengths.least_size() &&
                         (tickets == base::Tickets::always || plan::choose_ticket(model, shape));
  if (announced) return to_itself ? "self, from layout to layout in one copy" : "ticket, through shared memory";
  const bool packed =
      plan::choose(model, shape, plan::Operation::send, plan::Peers::same_host) == plan::Reason::accelerated;
  return packed ? "packed by Dunnage, and sent by the MPI" : "left to the MPI";
}

void print_prediction(const std::string& name, const plan::Model& model, const plan::Shape& shape,
                      base::Tickets tickets) {
  const auto p = plan::predict(model, shape, plan::Operation::pack);
  const auto m = plan::predict(model, shape, plan::Operation::send);
  const auto line = [&](const char* what, const plan::Prediction& x) {
    fmt::print("{:<16} {:<17} Dunnage {}, the MPI {}: {}\n", what, name, base::format_seconds(x.engine * 1e-9),
               base::format_seconds(x.library * 1e-9), x.gain() ? "accelerated" : "declined, no gain");
  };
  line("predicted pack", p);
  line("predicted send", m);
  for (const bool to_itself : {false, true})
    fmt::print("{:<16} {:<17} {}: {}\n", "way", name, to_itself ? "to the rank itself" : "within a host",
               host_way(model, shape, tickets, to_itself));
}

/// Returns the models of the model file. If there is none, returns the built-in ones.
Models models_of(const plan::MachineModel& machine) {
  Models models;
  for (const auto& [library, figures] : machine.file.models) models.push_back({plan::describe(library), figures});
  if (models.empty())
    for (const auto kind : {plan::Library::Kind::open_mpi, plan::Library::Kind::mpich})
      models.push_back({std::string(plan::name_of(kind)), plan::default_model({kind})});
  return models;
}

void print_predictions(const plan::Shape& shape, const plan::MachineModel& machine, const Models& models,
                       base::Tickets tickets) {
  if (!machine.complaint.empty()) fmt::print(stderr, "dunnage explain: {}\n", machine.complaint);
  if (!machine.file.models.empty())
    fmt::print("predicted by     {}, measured {}\n", machine.path, machine.file.date);
  else
    fmt::print("predicted by     built-in figures; `dunnage tune` measures this machine's\n");
  for (const auto& [name, model] : models) print_prediction(name, model, shape, tickets);
}

/// Explains data in host memory that are not contiguous.
void print_host(const type::Spec& spec, const pack::Program& program, const ExplainOptions& options) {
  fmt::print("kernel           {} on {}, {} stores\n", program.kernel(), pack::kernels().target,
             program.stores() == pack::Stores::streamed ? "streamed" : "cached");
  std::vector<std::string> complaints;  // `dunnage info` shows them
  const auto settings = base::Settings::from_environment(environ, complaints);
  const auto machine = plan::machine_model(settings.model);
  const auto models = models_of(machine);
  const plan::Shape shape{program.size(), program.blocks(), program.stores() == pack::Stores::streamed,
                          type::has_mixed_elements(spec)};
  print_predictions(shape, machine, models, settings.tickets);
  if (!options.report.empty()) {
    const auto kind = plan::kind_of(program.kernel(), shape, program.span());
    for (const auto& line : told_by_report(options.report, shape, kind, machine)) fmt::print("{}\n", line);
  }
  measure(spec, program, options.count, shape, models);
}

/// Prints which way a message in device memory goes, by the sizes of one model.
void print_ways(const std::string& name, const plan::GpuSizes& sizes, const base::Settings& settings,
                const pack::cuda::Recipe& recipe) {
  constexpr auto least = transport::gpu_lengths.least_size();
  const auto size = recipe.size();
  const bool contiguous = recipe.contiguous(0, size).has_value();
  const bool nest = recipe.parts().size() == 1 && recipe.parts().front().nest;
  const auto most_shared = static_cast<std::int64_t>(settings.ticket_memory);
  const bool direct = settings.gpu_path != base::GpuPath::staged && settings.gpu_path != base::GpuPath::pass;
  const auto line = [&](const char* when, plan::GpuWay way) {
    fmt::print("{:<16} {}: {}\n", name, when, plan::text(way));
  };
  for (const bool reads : {true, false}) {
    const bool token = direct && reads && nest && transport::token_length(size) && size >= sizes.direct;
    auto way = token          ? plan::GpuWay::direct
               : size < least ? plan::GpuWay::staged_small
                              : plan::gpu_way(sizes, size, direct, most_shared, [&] { return reads; });
    if (way == plan::GpuWay::direct && !nest) way = plan::GpuWay::direct_packed;
    line(reads ? "on one host, where `dunnage info` says direct" : "on one host, elsewhere", way);
  }
  line("to the rank itself", !direct                                          ? plan::GpuWay::staged_forced
                             : size >= least || transport::token_length(size) ? plan::GpuWay::self
                                                                              : plan::GpuWay::staged_small);
  line("between hosts", plan::GpuWay::staged_alone);
  if (settings.gpu_path == base::GpuPath::automatic || settings.gpu_path == base::GpuPath::pass)
    line("not direct, with an MPI that reaches GPUs", plan::passed_way(sizes, size, contiguous));
}

/// Prints the ways with each MPI of the model file. If there is no model file, prints the ways by
/// the built-in figures.
void print_ways(const pack::cuda::Recipe& recipe) {
  std::vector<std::string> complaints;
  const auto settings = base::Settings::from_environment(environ, complaints);
  const auto model = plan::machine_model(settings.model);
  if (model.file.models.empty()) return print_ways("message", plan::GpuSizes(), settings, recipe);
  for (const auto& [library, figures] : model.file.models)
    print_ways(plan::describe(library), figures.gpu, settings, recipe);
}

/// Prints the kernels for buffers in device memory that begin at multiples of 256 bytes, as those
/// from cudaMalloc do.
void print_device(const type::Layout& layout, const pack::Program& program, std::int64_t count) {
  namespace cuda = pack::cuda;
  const cuda::Recipe recipe(layout, count);
  const cuda::Job job{&recipe, std::uintptr_t{1} << 40, std::uintptr_t{1} << 41, 0, recipe.size(), 0};
  const auto shape = plan::device_shape(program.size(), program.blocks(), program.span());
  for (const auto direction : {cuda::Direction::pack, cuda::Direction::unpack}) {
    const bool pack = direction == cuda::Direction::pack;
    cuda::each_launch(direction, {&job, 1}, [&](const cuda::Launch& launch) {
      if (launch.id.family == cuda::KernelId::Family::none) {
        fmt::print("{:<16} the driver's copy of {} bytes\n", pack ? "pack kernel" : "unpack kernel", launch.bytes);
        return;
      }
      const auto word =
          launch.id.family == cuda::KernelId::Family::rows || launch.id.family == cuda::KernelId::Family::tree
              ? std::string("chunks of 16 bytes, shifted")
          : launch.id.family == cuda::KernelId::Family::fused ? std::string("words as each part allows")
                                                              : fmt::format("words of {} bytes", launch.id.word);
      fmt::print("{:<16} {}: {}, {} blocks of {} threads, {} bytes of shared memory\n",
                 pack ? "pack kernel" : "unpack kernel", name_of(launch.id), word, launch.blocks, cuda::block_threads,
                 launch.shared);
    });
    const auto p = plan::predict(plan::default_device_model(), shape, pack);
    fmt::print("{:<16} {} ({}); limit {}: {} sectors of 32 bytes and {} packed bytes\n",
               pack ? "predicted pack" : "predicted unpack", base::format_seconds(p.time * 1e-9),
               base::format_rate(static_cast<double>(program.size()) / p.time * 1e9),
               base::format_seconds(p.limit * 1e-9), shape.sectors, shape.size);
  }
  print_ways(recipe);
}

}  // namespace

int explain(const ExplainOptions& options) try {
  if (options.count < 0) {
    fmt::print(stderr, "dunnage explain: --count {} is negative; give the number of elements, 0 or more\n",
               options.count);
    return 2;
  }
  const auto spec = type::parse(options.type);
  const auto layout = type::layout_of(*spec);
  const pack::Program program(layout, options.count);
  fmt::print("type\n");
  print_tree(*spec, 0);
  fmt::print("count            {}\n", options.count);
  fmt::print("layout           {}\n", type::to_string(program.data()));
  fmt::print("bytes            {} in {} blocks, spread over {}\n", program.size(), program.blocks(), program.span());
  if (program.size() == 0) {
    fmt::print("kernel           none: there are no bytes\n");
    return 0;
  }
  if (options.memory == "device") {
    print_device(layout, program, options.count);
    return 0;
  }
  if (layout.contiguous()) {
    fmt::print("kernel           none: contiguous data goes straight to the MPI\n");
    return 0;
  }
  print_host(*spec, program, options);
  return 0;
} catch (const NoReport& e) {
  fmt::print(stderr, "dunnage explain: {}\n", e.what());
  return 2;
} catch (const type::SpecError& e) {
  fmt::print(stderr, "dunnage explain: {}\n", e.what());
  return 2;
}

}  // namespace dunnage::tool
