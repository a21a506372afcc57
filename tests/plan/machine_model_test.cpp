// Where the model file is looked for, and who is told of what.
#include "plan/machine_model.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "libraries.hpp"
#include "plan/processor_figures.hpp"

namespace dunnage::plan {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class MachineModelTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "dunnage-model-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string good() const {
    return json({{"format", "dunnage model"},
                 {"version", 1},
                 {"made", {{"date", "today"}}},
                 {"machine", to_json(base::this_machine())},
                 {"mpis", json::array({{{"library", "Open MPI"}, {"major", 4}, {"minor", 1}, {"least_ticket", 77}}})}})
        .dump();
  }

  fs::path folder;
};

TEST_F(MachineModelTest, NoFileIsNothingToTalkAbout) {
  const auto model = machine_model("");
  EXPECT_EQ(model.path, folder / "dunnage" / ("model-" + base::short_hash(base::this_machine()) + ".json"));
  EXPECT_FALSE(model.found);
  EXPECT_EQ(model.complaint, "");
  EXPECT_EQ(figures(model.of(open_mpi)), figures(built_in_model(open_mpi)));
}

TEST_F(MachineModelTest, TheFileAtTheUsualPlaceIsUsed) {
  write(usual_model_path(), good());
  const auto model = machine_model("");
  EXPECT_TRUE(model.found);
  EXPECT_EQ(model.file.date, "today");
  EXPECT_TRUE(model.has(open_mpi));
  EXPECT_EQ(model.of(open_mpi).least_ticket, 77);
  EXPECT_FALSE(model.has(mpich));
  EXPECT_EQ(model.of(mpich).least_ticket, built_in_model(mpich).least_ticket);
  EXPECT_FALSE(model.has({Library::Kind::open_mpi, 4, 0}));  // another version is another MPI
}

TEST_F(MachineModelTest, AProgramFindsAFileToo) {
  const auto without_folder = machine_model_if_any("");
  EXPECT_EQ(without_folder.path, "");
  EXPECT_FALSE(without_folder.found);
  EXPECT_EQ(without_folder.complaint, "");
  EXPECT_EQ(figures(without_folder.of(open_mpi)), figures(built_in_model(open_mpi)));
  EXPECT_NE(machine_model_if_any("/nowhere/model.json").complaint, "") << "a file that was asked for";
  write(usual_model_path(), good());
  EXPECT_TRUE(machine_model_if_any("").found);
  EXPECT_FALSE(machine_model_if_any(no_file).found);
}

TEST_F(MachineModelTest, OrIsNot) {
  write(usual_model_path(), good());
  const auto model = machine_model(no_file);
  EXPECT_FALSE(model.found);
  EXPECT_EQ(model.path, "");
}

TEST_F(MachineModelTest, AFileThatWasNamed) { EXPECT_TRUE(machine_model(write(folder / "mine.json", good())).found); }

TEST_F(MachineModelTest, TheNameAndWhatIsWrongAndWhatToDoAreOneLine) {
  mkfifo((folder / "pipe").c_str(), 0600);
  const std::pair<std::string, const char*> bad[] = {
      {folder / "none.json", "No such file"},
      {folder, "not a file"},
      {folder / "pipe", "not a file"},
      {"/dev/zero", "not a file"},
      {write(folder / "large", std::string((1 << 20) + 1, ' ')), "too large"},
      {write(folder / "half", good().substr(0, 50)), "cut off"}};
  for (const auto& [path, why] : bad) {
    const auto model = machine_model(path);
    EXPECT_FALSE(model.found);
    EXPECT_EQ(model.complaint.find(path), 0u) << model.complaint;
    EXPECT_NE(model.complaint.find(why), std::string::npos) << model.complaint;
    EXPECT_NE(model.complaint.find("dunnage tune"), std::string::npos);
    EXPECT_EQ(model.complaint.find('\n'), std::string::npos);
    EXPECT_EQ(figures(model.of(open_mpi)), figures(built_in_model(open_mpi)));
  }
}

TEST_F(MachineModelTest, APathWithANewlineIsOneLine) {
  const auto model = machine_model(folder / "a\nb");
  EXPECT_NE(model.complaint.find("a?b"), std::string::npos);
  EXPECT_EQ(model.complaint.find('\n'), std::string::npos);
}

TEST_F(MachineModelTest, WhatOthersMayChangeIsNotBelieved) {
  const auto path = write(folder / "mine" / "model.json", good());
  const auto problem = [&](const fs::path& named) {
    const auto model = machine_model(named);
    EXPECT_EQ(model.found, model.complaint.empty());
    return model.complaint;
  };
  EXPECT_EQ(problem(path), "");
  fs::create_symlink(path, folder / "link");
  EXPECT_EQ(problem(folder / "link"), "");

  chmod(path.c_str(), 0646);
  EXPECT_NE(problem(path).find("others may write to it"), std::string::npos);
  chmod(path.c_str(), 0664);
  EXPECT_EQ(problem(path), "") << "the user's own group";
  chmod(path.parent_path().c_str(), 0777);
  EXPECT_NE(problem(path).find("others may write to its folder"), std::string::npos);
  EXPECT_NE(problem(folder / "link").find("others may write to its folder"), std::string::npos);
  chmod(path.parent_path().c_str(), 01777);
  EXPECT_EQ(problem(path), "") << "in such a folder others cannot replace the file";
  chmod(path.parent_path().c_str(), 0700);

  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(path.c_str(), 0, 12345), 0);
  EXPECT_NE(problem(path).find("others may write to it"), std::string::npos);
  ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
  EXPECT_NE(problem(path).find("it belongs to another user"), std::string::npos);
  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(path.parent_path().c_str(), 12345, 0), 0);
  EXPECT_NE(problem(path).find("its folder belongs to another user"), std::string::npos);
}

TEST_F(MachineModelTest, ADamagedOneAtTheUsualPlaceIsSaidToo) {
  write(usual_model_path(), "{");
  EXPECT_NE(machine_model("").complaint, "");
}

TEST_F(MachineModelTest, AFolderThatIsNotOursIsNothingToTalkAbout) {
  for (const char* cache : {"/proc/1/nothing", "/dev/null"}) {
    setenv("XDG_CACHE_HOME", cache, 1);
    EXPECT_EQ(machine_model("").complaint, "");
  }
}

TEST_F(MachineModelTest, HomeIsNextAndWithoutBothThereIsNoPlace) {
  const char* home = std::getenv("HOME");
  const std::string kept = home ? home : "";
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/somebody", 1);
  EXPECT_EQ(usual_model_path().find("/somebody/.cache/dunnage/model-"), 0u);
  unsetenv("HOME");
  EXPECT_EQ(usual_model_path(), "");
  EXPECT_EQ(machine_model("").complaint, "");
  setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace dunnage::plan
