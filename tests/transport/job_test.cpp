// What the launchers' variables tell.
#include "transport/peers/job.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace dunnage::transport::peers {
namespace {

class Launched : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"PMIX_NAMESPACE", "PMI_FD", "PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PMIX_RANK", "SLURM_JOB_ID",
          "SLURM_STEP_ID", "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"})
      unsetenv(name);
  }
};

TEST_F(Launched, ByOpenMpi) {
  EXPECT_FALSE(rank_told());
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_FALSE(rank_told()) << "nobody says how many there are";
  setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
  ASSERT_TRUE(rank_told());
  EXPECT_EQ(rank_told()->rank, 3u);
  EXPECT_EQ(rank_told()->ranks, 5u);
}

TEST_F(Launched, ByHydra) {
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "2", 1);
  ASSERT_TRUE(rank_told());
  EXPECT_EQ(rank_told()->rank, 0u);
  EXPECT_EQ(rank_told()->ranks, 2u);
}

TEST_F(Launched, BySrun) {
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  EXPECT_FALSE(ranks_told()) << "srun may not have started this process as a rank";
  setenv("PMIX_RANK", "1", 1);
  EXPECT_EQ(ranks_told(), 4u);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(ranks_told(), 2u) << "mpirun in a job of Slurm";
}

TEST_F(Launched, HowManyRanksAreHere) {
  EXPECT_FALSE(ranks_on_host(3));
  EXPECT_FALSE(alone_on_host(1));
  for (const char* name : {"PMI_LOCAL_SIZE", "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
    setenv(name, "3", 1);
    EXPECT_EQ(ranks_on_host(6), 3u) << name;
    EXPECT_TRUE(alone_on_host(3));
    EXPECT_FALSE(alone_on_host(4));
    unsetenv(name);
  }
  setenv("SLURM_STEP_NUM_NODES", "2", 1);
  EXPECT_FALSE(ranks_on_host(6));
  setenv("SLURM_STEP_NUM_NODES", "1", 1);
  EXPECT_EQ(ranks_on_host(6), 6u);
  EXPECT_TRUE(alone_on_host(6));
}

TEST_F(Launched, WhatIsNoRankIsNotBelieved) {
  setenv("PMI_SIZE", "2", 1);
  for (const char* rank : {"2", "-1", "", "1x", "99999999999"}) {
    setenv("PMI_RANK", rank, 1);
    EXPECT_FALSE(rank_told()) << rank;
  }
}

TEST_F(Launched, JobsWithoutANameHaveOneWithinAHost) {
  EXPECT_EQ(world_key(4), 0u);
  setenv("SLURM_JOB_ID", "7", 1);
  setenv("SLURM_STEP_ID", "0", 1);
  ASSERT_TRUE(job());
  EXPECT_EQ(world_key(4), 0u) << "nobody says that all ranks are here";
  setenv("MPI_LOCALNRANKS", "4", 1);
  EXPECT_EQ(world_key(4), *job());
  EXPECT_EQ(world_key(5), 0u) << "some are elsewhere";
  setenv("PMIX_NAMESPACE", "a", 1);
  EXPECT_NE(world_key(5), 0u);
  EXPECT_EQ(world_key(4), world_key(5));
}

}  // namespace
}  // namespace dunnage::transport::peers
