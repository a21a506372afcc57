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
#include "plan/processor_figures.hpp"
#include "tool/explain_trials.hpp"
#include "tool/listing.hpp"
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
void print_tree(Listing& list, const type::Spec& spec, int depth) {
  const auto text = type::to_text(spec, true);
  const auto own = spec.types.empty() ? text : text.substr(0, text.find('('));
  list.text("  {:{}}{}{}", "", 2 * depth, depth ? "of " : "", own);
  if (!spec.types.empty()) list.text("  size {}, lb {}, extent {}", spec.size, spec.lb, spec.extent);
  list.text("\n");
  for (const auto& t : spec.types) print_tree(list, *t, depth + 1);
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
/// What predictions depend on beside the type.
struct Basis {
  base::Settings settings;
  plan::MachineModel machine;
};

Basis read_basis() {
  std::vector<std::string> complaints;  // `dunnage info` shows them
  auto settings = base::Settings::from_environment(environ, complaints);
  auto machine = plan::machine_model(settings.model);
  return {std::move(settings), std::move(machine)};
}

struct Named {
  std::string name;
  plan::Model model;
};
using Models = std::vector<Named>;

/// Points out where what was measured here is far from what was predicted. MPIs whose prices are
/// alike have one line.
void print_differences(Listing& list, const char* what, double seconds, const plan::Shape& shape,
                       const Models& models) {
  std::vector<double> told;
  for (const auto& [name, model] : models) {
    const double predicted = plan::predict(model, shape, plan::Operation::pack).engine;
    const auto text = difference(1e9 * seconds, predicted, predicted);
    if (text.empty() || std::ranges::find(told, predicted) != told.end()) continue;
    told.push_back(predicted);
    list.text("{:<16}{}, {} by the figures of {}; the caches were warm\n", what, text,
              base::format_seconds(1e-9 * predicted), name);
  }
}

void measure(Listing& list, const type::Spec& spec, const pack::Program& program, std::int64_t count,
             const plan::Shape& shape, const Models& models) {
  const auto size = program.size(), span = program.span();
  if (span > most_measured || size > most_measured) {
    const auto needed = base::format_bytes(static_cast<std::uint64_t>(std::max(span, size)));
    list.text("measured         no: the buffer would take {}\n", needed);
    list.document["measured"] = nullptr;
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
  list.text(
      "measured pack    {} ({})\nmeasured unpack  {} ({})\n"
      "memcpy of payload {} ({}), so packing takes {:.2f} times as long\n",
      base::format_seconds(pack), rate(pack), base::format_seconds(unpack), rate(unpack), base::format_seconds(copy),
      rate(copy), pack / copy);
  auto& measured = list.document["measured"];
  measured = {{"pack seconds", pack}, {"unpack seconds", unpack}, {"memcpy seconds", copy}};
  print_differences(list, "measured pack", pack, shape, models);
  print_differences(list, "measured unpack", unpack, shape, models);
  if (size <= most_verified) {
    type::typemap_pack(spec, count, user, again.data());
    const bool right = again == packed;
    list.text("verified         {}\n",
              right ? "yes, against the brute-force typemap" : "NO: the packed bytes are wrong");
    measured["verified"] = right;
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

void print_prediction(Listing& list, const std::string& name, const plan::Model& model, const plan::Shape& shape,
                      base::Tickets tickets) {
  const auto p = plan::predict(model, shape, plan::Operation::pack);
  const auto m = plan::predict(model, shape, plan::Operation::send);
  Json found{{"mpi", name}};
  const auto line = [&](const char* what, const plan::Prediction& x) {
    const double engine = x.engine * 1e-9, library = x.library * 1e-9;
    list.text("{:<16} {:<17} Dunnage {}, the MPI {}: {}\n", what, name, base::format_seconds(engine),
              base::format_seconds(library), x.gain() ? "accelerated" : "declined, no gain");
    found[what] = {{"Dunnage's seconds", engine}, {"the MPI's seconds", library}, {"accelerated", x.gain()}};
  };
  line("predicted pack", p);
  line("predicted send", m);
  for (const bool to_itself : {false, true}) {
    const char* const where = to_itself ? "to the rank itself" : "within a host";
    const auto way = host_way(model, shape, tickets, to_itself);
    list.text("{:<16} {:<17} {}: {}\n", "way", name, where, way);
    found["ways"][where] = way;
  }
  list.document["mpis"].push_back(std::move(found));
}

/// Returns the models of the model file. If there is none, returns the built-in ones.
Models models_of(const plan::MachineModel& machine) {
  Models models;
  for (const auto& [library, figures] : machine.file.models) models.push_back({plan::describe(library), figures});
  if (models.empty())
    for (const auto kind : {plan::Library::Kind::open_mpi, plan::Library::Kind::mpich})
      models.push_back({std::string(plan::name_of(kind)), plan::built_in_model({kind})});
  return models;
}

void print_predictions(Listing& list, const plan::Shape& shape, const plan::MachineModel& machine, const Models& models,
                       base::Tickets tickets) {
  if (!machine.complaint.empty()) fmt::print(stderr, "dunnage explain: {}\n", machine.complaint);
  const bool tuned = !machine.file.models.empty();
  if (tuned)
    list.text("predicted by     {}, measured {}\n", machine.path, machine.file.date);
  else
    list.text("predicted by     built-in figures; `dunnage tune` measures this machine's\n");
  list.document["model file"] = tuned ? Json(machine.path) : Json(nullptr);
  for (const auto& [name, model] : models) print_prediction(list, name, model, shape, tickets);
}

plan::Shape shape_of(const pack::Program& program, const type::Spec& spec) {
  return {program.size(), program.blocks(), program.stores() == pack::Stores::streamed, type::has_mixed_elements(spec)};
}

/// Prints what a program has measured beside its own MPI, and where its prediction was far off.
void print_times(Listing& list, const TimesInProgram& times, const plan::Shape& shape,
                 const plan::MachineModel& machine) {
  const auto library = plan::identify(times.library);
  const auto predicted = plan::predict(machine.of(library), shape, plan::Operation::pack);
  list.text("in the program   the MPI {}, Dunnage {} for one element, by {}{}\n", base::format_seconds(times.mpi),
            base::format_seconds(times.dunnage), plan::describe(library),
            times.alike ? "" : "; the MPI packs the elements in another order");
  const auto far = difference(1e9 * times.mpi, predicted.library, predicted.library);
  if (!far.empty()) list.text("                 the MPI{}\n", far);
  list.document["in the program"] = {{"library", times.library},
                                     {"the MPI's pack seconds", times.mpi},
                                     {"Dunnage's pack seconds", times.dunnage},
                                     {"packed alike", times.alike},
                                     {"predicted for the MPI, seconds", 1e-9 * predicted.library}};
}

/// Explains data in host memory that are not contiguous.
void print_host(Listing& list, const type::Spec& spec, const pack::Program& program, const ExplainOptions& options,
                const Basis& basis) {
  const std::string_view stores = program.stores() == pack::Stores::streamed ? "streamed" : "cached";
  list.text("kernel           {} on {}, {} stores\n", program.kernel(), pack::kernels().target, stores);
  list.document["kernel"] = {
      {"name", program.kernel()}, {"instruction set", pack::kernels().target}, {"stores", stores}};
  const auto models = models_of(basis.machine);
  const auto shape = shape_of(program, spec);
  print_predictions(list, shape, basis.machine, models, basis.settings.tickets);
  if (!options.report.empty()) {
    const auto kind = plan::kind_of(program.kernel(), shape, program.span());
    for (const auto& line : told_by_report(options.report, shape, kind, basis.machine)) {
      list.text("{}\n", line);
      list.document["trials of the report"].push_back(line);
    }
  }
  measure(list, spec, program, options.count, shape, models);
}

/// Prints which way a message in device memory goes, by the sizes of one model.
void print_ways(Listing& list, const std::string& name, const plan::GpuSizes& sizes, const base::Settings& settings,
                const pack::cuda::Recipe& recipe) {
  constexpr auto least = transport::gpu_lengths.least_size();
  const auto size = recipe.size();
  const bool contiguous = recipe.contiguous(0, size).has_value();
  const bool nest = recipe.parts().size() == 1 && recipe.parts().front().nest;
  const auto most_shared = static_cast<std::int64_t>(settings.ticket_memory);
  const bool direct = settings.gpu_path != base::GpuPath::staged && settings.gpu_path != base::GpuPath::pass;
  auto& found = list.document["ways"][name];
  const auto line = [&](const char* when, plan::GpuWay way) {
    list.text("{:<16} {}: {}\n", name, when, plan::text(way));
    found[when] = plan::text(way);
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
void print_ways(Listing& list, const pack::cuda::Recipe& recipe, const Basis& basis) {
  const auto& models = basis.machine.file.models;
  if (models.empty()) return print_ways(list, "message", plan::GpuSizes(), basis.settings, recipe);
  for (const auto& [library, figures] : models)
    print_ways(list, plan::describe(library), figures.gpu, basis.settings, recipe);
}

/// Prints the kernels for buffers in device memory that begin at multiples of 256 bytes, as those
/// from cudaMalloc do.
void print_device(Listing& list, const type::Layout& layout, const pack::Program& program, std::int64_t count,
                  const Basis& basis) {
  namespace cuda = pack::cuda;
  const cuda::Recipe recipe(layout, count);
  const cuda::Job job{&recipe, std::uintptr_t{1} << 40, std::uintptr_t{1} << 41, 0, recipe.size(), 0};
  const auto shape = plan::device_shape(program.size(), program.blocks(), program.span());
  for (const auto direction : {cuda::Direction::pack, cuda::Direction::unpack}) {
    const bool pack = direction == cuda::Direction::pack;
    auto& found = list.document[pack ? "pack" : "unpack"];
    cuda::each_launch(direction, {&job, 1}, [&](const cuda::Launch& launch) {
      if (launch.id.family == cuda::KernelId::Family::none) {
        list.text("{:<16} the driver's copy of {} bytes\n", pack ? "pack kernel" : "unpack kernel", launch.bytes);
        found["launches"].push_back({{"kernel", nullptr}, {"bytes", launch.bytes}});
        return;
      }
      const auto word =
          launch.id.family == cuda::KernelId::Family::rows || launch.id.family == cuda::KernelId::Family::tree
              ? std::string("chunks of 16 bytes, shifted")
          : launch.id.family == cuda::KernelId::Family::fused ? std::string("words as each part allows")
                                                              : fmt::format("words of {} bytes", launch.id.word);
      list.text("{:<16} {}: {}, {} blocks of {} threads, {} bytes of shared memory\n",
                pack ? "pack kernel" : "unpack kernel", name_of(launch.id), word, launch.blocks, cuda::block_threads,
                launch.shared);
      found["launches"].push_back({{"kernel", name_of(launch.id)},
                                   {"blocks", launch.blocks},
                                   {"threads of a block", cuda::block_threads},
                                   {"bytes of shared memory", launch.shared}});
    });
    const auto p = plan::predict(plan::default_device_model(), shape, pack);
    list.text("{:<16} {} ({}); limit {}: {} sectors of 32 bytes and {} packed bytes\n",
              pack ? "predicted pack" : "predicted unpack", base::format_seconds(p.time * 1e-9),
              base::format_rate(static_cast<double>(program.size()) / p.time * 1e9),
              base::format_seconds(p.limit * 1e-9), shape.sectors, shape.size);
    found["predicted seconds"] = p.time * 1e-9;
    found["limit, seconds"] = p.limit * 1e-9;
  }
  print_ways(list, recipe, basis);
}

}  // namespace

int explain(Listing& list, const ExplainOptions& options) try {
  if (options.count < 0) {
    fmt::print(stderr, "dunnage explain: --count {} is negative; give the number of elements, 0 or more\n",
               options.count);
    return 2;
  }
  const auto spec = type::parse(options.type);
  const auto layout = type::layout_of(*spec);
  const pack::Program program(layout, options.count);
  const Basis basis = read_basis();
  list.text("type\n");
  print_tree(list, *spec, 0);
  list.text("count            {}\n", options.count);
  list.text("layout           {}\n", type::to_string(program.data()));
  list.text("bytes            {} in {} blocks, spread over {}\n", program.size(), program.blocks(), program.span());
  list.document = {{"type", type::to_text(*spec, false)},
                   {"size", spec->size},
                   {"lb", spec->lb},
                   {"extent", spec->extent},
                   {"count", options.count},
                   {"layout", type::to_string(program.data())},
                   {"bytes", program.size()},
                   {"blocks", program.blocks()},
                   {"span", program.span()},
                   {"kernel", nullptr}};
  if (program.size() == 0) {
    list.text("kernel           none: there are no bytes\n");
  } else if (options.memory == "device") {
    print_device(list, layout, program, options.count, basis);
  } else if (layout.contiguous()) {
    list.text("kernel           none: contiguous data goes straight to the MPI\n");
  } else {
    print_host(list, *spec, program, options, basis);
  }
  if (options.times) print_times(list, *options.times, shape_of(program, *spec), basis.machine);
  return 0;
} catch (const NoReport& e) {
  fmt::print(stderr, "dunnage explain: {}\n", e.what());
  return 2;
} catch (const type::SpecError& e) {
  fmt::print(stderr, "dunnage explain: {}\n", e.what());
  return 2;
}

int explain(const ExplainOptions& options) {
  Listing list(options.json);
  const int status = explain(list, options);
  if (status == 0) list.finish();
  return status;
}

}  // namespace dunnage::tool
