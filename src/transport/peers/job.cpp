#include "transport/peers/job.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "base/read_file.hpp"

namespace dunnage::transport::peers {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// When a process began, in the kernel's ticks. It tells the process from an earlier one with the
/// same number.
std::string beginning(int process) {
  const auto text = base::read_file(fmt::format("/proc/{}/stat", process));
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != text.npos; ++field) at = text.find(' ', at + 1);
  return at == text.npos ? "" : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

/// Hydra and launchers like it speak to each process through a socket. The process that made the
/// socket is the proxy: a job has one proxy on each host.
std::string proxy() {
  const auto file = variable("PMI_FD");
  if (file.empty()) return "";
  ucred maker{};
  socklen_t size = sizeof maker;
  if (getsockopt(std::atoi(file.c_str()), SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0 || maker.pid <= 0) return "";
  return fmt::format("{} {}", maker.pid, beginning(maker.pid));
}

/// Another one after each start of the kernel.
std::string boot_id() {
  const auto text = base::read_file("/proc/sys/kernel/random/boot_id");
  return text.substr(0, text.find('\n'));
}

std::optional<std::uint32_t> number_of(const char* name) {
  const auto text = variable(name);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The namespace of process numbers. Memory is found by process numbers, which differ between
/// namespaces.
std::string space() {
  char name[64] = "";
  const auto length = readlink("/proc/self/ns/pid", name, sizeof name);
  return {name, length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace

std::optional<std::uint64_t> job() {
  if (const auto name = variable("PMIX_NAMESPACE"); !name.empty())
    return base::hash("pmix " + name + ' ' + space() + ' ' + variable("PMIX_SERVER_TMPDIR"));
  if (const auto maker = proxy(); !maker.empty()) return base::hash("pmi " + maker + ' ' + space());
  const auto number = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (!number.empty() && !step.empty()) return base::hash("slurm " + number + ' ' + step + ' ' + space());
  return std::nullopt;
}

std::uint64_t world_key(std::uint32_t ranks) {
  if (const auto name = variable("PMIX_NAMESPACE"); !name.empty()) return base::hash(name);
  return alone_on_host(ranks) ? job().value_or(0) : 0;
}

std::uint64_t host_key() {
  const auto boot = boot_id();
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);  // in case the file is empty
  return base::hash(boot + ' ' + name.c_str() + ' ' + space());
}

std::uint64_t machine_key() {
  const auto boot = boot_id();
  return boot.empty() ? 0 : base::hash(boot);
}

std::optional<RankTold> rank_told() {
  constexpr std::array names{std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                             std::pair{"PMI_RANK", "PMI_SIZE"}};
  for (const auto& [rank_name, size_name] : names) {
    const auto rank = number_of(rank_name), ranks = number_of(size_name);
    if (rank && ranks && *rank < *ranks) return RankTold{*rank, *ranks};
  }
  return std::nullopt;
}

std::optional<std::uint32_t> ranks_told() {
  if (const auto told = rank_told()) return told->ranks;
  return number_of("PMIX_RANK") ? number_of("SLURM_STEP_NUM_TASKS") : std::nullopt;
}

std::optional<std::uint32_t> ranks_on_host(std::uint32_t ranks) {
  if (variable("SLURM_STEP_NUM_NODES") == "1") return ranks;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"})
    if (const auto local = variable(name); !local.empty())
      return static_cast<std::uint32_t>(std::strtoul(local.c_str(), nullptr, 10));
  return std::nullopt;
}

bool alone_on_host(std::uint32_t ranks) { return ranks_on_host(ranks).value_or(0) >= ranks; }

}  // namespace dunnage::transport::peers
