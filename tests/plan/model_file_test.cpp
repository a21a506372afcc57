// Model files, good and bad: what becomes of each.
#include "plan/model_file.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "libraries.hpp"

namespace dunnage::plan {
namespace {

using nlohmann::json;

const base::Machine machine{"AMD EPYC", 2, 1 << 20};

json document() {
  return {{"format", "dunnage model"},
          {"version", 1},
          {"made", {{"date", "2026-11-21T20:00:00+00:00"}}},
          {"machine", to_json(machine)},
          {"mpis", json::array({{{"library", "Open MPI"}, {"major", 4}, {"minor", 1}}})}};
}

json with(json entry) {
  auto made = document();
  made["mpis"][0].update(entry);
  return made;
}

/// The only model of a file that is in order.
Model read(const json& made) {
  const auto file = read_model_file(made.dump(), machine);
  EXPECT_EQ(file.complaint, "");
  EXPECT_EQ(file.models.size(), 1u);
  return file.models.at(0).second;
}

json changed(const Model& model) { return json::diff(figures(default_model(open_mpi)), figures(model)); }

TEST(ModelFile, EveryFigureIsTaken) {
  auto asked = figures(default_model(open_mpi));
  std::int64_t n = 1;
  const auto flat = asked.flatten();
  for (const auto& figure : flat.items()) asked[json::json_pointer(figure.key())] = n++;
  // Three prices, two sizes, three of GPUs and ten of broadcasts. Each of two classes has a size,
  // and two prices and two figures for each side.
  EXPECT_EQ(n, 70);
  EXPECT_EQ(figures(read(with(asked))), asked);
}

TEST(ModelFile, WhatAnMpiDoesIsNotTaken) {
  const auto model = read(with({{"most_contiguous_send", 7}, {"contiguous_receives", true}, {"trusted_mixed", false}}));
  const auto built_in = default_model(open_mpi);
  EXPECT_EQ(model.most_contiguous_send, built_in.most_contiguous_send);
  EXPECT_EQ(model.contiguous_receives, built_in.contiguous_receives);
  EXPECT_EQ(model.trusted_mixed, built_in.trusted_mixed);
}

TEST(ModelFile, WhatIsNotThereStaysBuiltIn) {
  EXPECT_EQ(changed(read(document())), json::array());
  const auto one = changed(read(with({{"messages", {{"other_host", {{"send", {{"library", {{"block", 2.5}}}}}}}}}})));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["path"], "/messages/other_host/send/library/block");
  EXPECT_EQ(one[0]["value"], 2.5);
}

TEST(ModelFile, FiguresOfBroadcasts) {
  const auto bcast =
      read(with({{"bcast", {{"window", {{"reader", 0.25}}}, {"other_host", {{"latency", 7}}}, {"date", "today"}}}}))
          .bcast;
  const BcastFigures built_in;
  EXPECT_EQ(bcast.window, (WindowCosts{built_in.window.call, built_in.window.byte, 0.25}));
  EXPECT_EQ(bcast.other_host, (NetworkCosts{7, built_in.other_host.overhead, built_in.other_host.byte}));
  EXPECT_EQ(bcast.same_host, built_in.same_host);
  EXPECT_EQ(bcast.least_window, built_in.least_window);
}

TEST(ModelFile, CurvesAndWhatElseItHoldsDoNotMatter) {
  auto made = with({{"curves", {{"copy", {{4096, 100}}}}}, {"gpu", {1, 2}}});
  made["more"] = "text";
  EXPECT_EQ(changed(read(made)), json::array());
}

TEST(ModelFile, OneOfEachMpi) {
  auto made = with({{"least_ticket", 1}});
  made["mpis"].push_back({{"library", "MPICH"}, {"major", 4}, {"minor", 0}, {"least_ticket", 2}});
  const auto file = read_model_file(made.dump(), machine);
  EXPECT_EQ(file.date, "2026-11-21T20:00:00+00:00");
  ASSERT_EQ(file.models.size(), 2u);
  EXPECT_EQ(file.models[0].first, open_mpi);
  EXPECT_EQ(file.models[0].second.least_ticket, 1);
  EXPECT_EQ(file.models[1].first, mpich);
  EXPECT_EQ(file.models[1].second.least_ticket, 2);
}

TEST(ModelFile, NamesOfKindsAreReadBack) {
  for (const auto kind : {Library::Kind::open_mpi, Library::Kind::mpich, Library::Kind::intel, Library::Kind::other})
    EXPECT_EQ(kind_of(name_of(kind)), kind);
  EXPECT_EQ(kind_of("LAM"), std::nullopt);
}

struct Bad {
  const char* what;
  std::string text;
  const char* says;
};

json but(const char* place, json value) {
  auto made = document();
  made[json::json_pointer(place)] = std::move(value);
  return made;
}

json without(const char* key) {
  auto made = document();
  made.erase(key);
  return made;
}

const Bad bad_files[] = {
    {"empty", "", "not JSON"},
    {"cut off", document().dump().substr(0, 100), "cut off"},
    {"bytes", std::string("\0\xff\x01", 3), "not JSON"},
    {"no object", "[1]", "no model file"},
    {"another format", but("/format", "ninja deps").dump(), "no model file"},
    {"no format", without("format").dump(), "no model file"},
    {"another version", but("/version", 2).dump(), "version 2"},
    {"a version that is text", but("/version", "1\n1").dump(), "version \"1\\n1\""},
    {"another processor", but("/machine/processor", "Xeon\nE5").dump(), "another machine (Xeon?E5"},
    {"more cores", but("/machine/cores", 4).dump(), "this one: AMD EPYC, 2 cores"},
    {"no machine", without("machine").dump(), "damaged"},
    {"no date", without("made").dump(), "damaged"},
    {"no MPIs", without("mpis").dump(), "damaged"},
    {"MPIs that are none", but("/mpis", {1, 2}).dump(), "damaged"},
    {"an unknown MPI", with({{"library", "LAM"}}).dump(), "unknown, \"LAM\""},
    {"negative", with({{"engine_pack", {{"block", -1}}}}).dump(), "has -1 for /engine_pack/block"},
    {"too much", with({{"library_pack", {{"byte", 1e7}}}}).dump(),
     "/library_pack/byte, which must be a number from 0 to 1e+06"},
    {"not finite", R"({"format": "dunnage model", "version": 1e999})", "damaged"},
    {"no number", with({{"engine_pack", {{"call", "fast"}}}}).dump(), "has \"fast\" for /engine_pack/call"},
    {"null", with({{"engine_pack", {{"call", nullptr}}}}).dump(), "has null"},
    {"a part of a byte", with({{"least_ticket", 0.5}}).dump(), "whole number"},
    {"negative bytes of a window", with({{"bcast", {{"least_window", -1}}}}).dump(), "has -1 for /bcast/least_window"},
    {"a network that is none", with({{"bcast", {{"same_host", {{"overhead", "none"}}}}}}).dump(),
     "has \"none\" for /bcast/same_host/overhead"},
    {"a reader too dear", with({{"bcast", {{"window", {{"reader", 1e9}}}}}}).dump(), "/bcast/window/reader"},
    {"nested deeply", std::string(500'000, '['), "nested more than 32 deep"},
    {"a figure that is nested deeply",
     R"({"format": "dunnage model", "version": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}",
     "nested more than 32 deep"},
    {"one bad class", with({{"messages", {{"same_host", {{"eager_limit", -1}}}}}}).dump(),
     "/messages/same_host/eager_limit"},
};

class BadFile : public testing::TestWithParam<Bad> {};

TEST_P(BadFile, IsOneLineAndNoModel) {
  const auto& bad = GetParam();
  const auto file = read_model_file(bad.text, machine);
  EXPECT_NE(file.complaint.find(bad.says), std::string::npos) << bad.what << ": " << file.complaint;
  EXPECT_EQ(file.complaint.find('\n'), std::string::npos);
  EXPECT_TRUE(file.models.empty());
}

INSTANTIATE_TEST_SUITE_P(Table, BadFile, testing::ValuesIn(bad_files));

}  // namespace
}  // namespace dunnage::plan
