#include "plan/library.hpp"

#include <gtest/gtest.h>

namespace dunnage::plan {
namespace {

using Kind = Library::Kind;

TEST(Identify, ByTheTextOfMpiGetLibraryVersion) {
  EXPECT_EQ(identify("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"),
            (Library{Kind::open_mpi, 4, 1}));
  EXPECT_EQ(identify("Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11"),
            (Library{Kind::open_mpi, 5, 0}));
  EXPECT_EQ(identify("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"),
            (Library{Kind::mpich, 4, 0}));
  EXPECT_EQ(identify("MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25\n"), (Library{Kind::mpich, 5, 0}));
  EXPECT_EQ(identify("Intel(R) MPI Library 2021.18.1 for Linux* OS\n"), (Library{Kind::intel, 2021, 18}));
  EXPECT_EQ(identify("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\nMPI BUILD INFO : Sun Feb 26\n"),
            (Library{Kind::mpich, 3, 4}));
}

TEST(Identify, OthersAreOfNoVersion) {
  EXPECT_EQ(identify("MVAPICH2 Version      :\t2.3.7\n"), Library{});
  EXPECT_EQ(identify("Some MPI 1.2"), Library{});
  EXPECT_EQ(identify(""), Library{});
  EXPECT_EQ(identify("Open MPI v"), (Library{Kind::open_mpi, 0, 0}));
}

TEST(Behaviour, OfTheKnownAndTheUnknown) {
  EXPECT_TRUE(behaviour_of({Kind::open_mpi, 5, 0}).own_order.stride_of_minus_one);
  EXPECT_FALSE(behaviour_of({Kind::open_mpi, 5, 0}).own_order.negative_extent);
  EXPECT_TRUE(behaviour_of({Kind::open_mpi, 5, 0}).own_order.large_elements_off_grid);
  EXPECT_FALSE(behaviour_of({Kind::open_mpi, 4, 1}).own_order.large_elements_off_grid);
  EXPECT_TRUE(behaviour_of({Kind::open_mpi, 5, 0}).takes_graphs_for_cartesian);
  EXPECT_FALSE(behaviour_of({Kind::open_mpi, 4, 1}).takes_graphs_for_cartesian);
  EXPECT_FALSE(behaviour_of({Kind::mpich, 5, 0}).takes_graphs_for_cartesian);
  EXPECT_TRUE(behaviour_of({Kind::other, 0, 0}).takes_graphs_for_cartesian);
  EXPECT_TRUE(behaviour_of({Kind::mpich, 5, 0}).asking_ends_persistent);
  EXPECT_FALSE(behaviour_of({Kind::mpich, 4, 0}).asking_ends_persistent);
  EXPECT_FALSE(behaviour_of({Kind::open_mpi, 5, 0}).asking_ends_persistent);
  EXPECT_TRUE(behaviour_of({Kind::open_mpi, 5, 0}).frees_types_unseen);
  EXPECT_FALSE(behaviour_of({Kind::mpich, 5, 0}).frees_types_unseen);
  EXPECT_TRUE(behaviour_of({Kind::mpich, 5, 0}).own_order.negative_extent);
  EXPECT_TRUE(behaviour_of({Kind::mpich, 4, 0}).truncates_bytes_into_mixed);
  EXPECT_FALSE(behaviour_of({Kind::mpich, 5, 0}).truncates_bytes_into_mixed);
  EXPECT_TRUE(behaviour_of({Kind::mpich, 5, 0}).handled_is_success);
  EXPECT_EQ(behaviour_of({Kind::mpich, 5, 0}).single_calls, Behaviour::Raises::on_its_own);
  EXPECT_EQ(behaviour_of({Kind::mpich, 5, 0}).array_calls, Behaviour::Raises::on_self);
  EXPECT_EQ(behaviour_of({Kind::mpich, 5, 0}).mrecv, Behaviour::Raises::on_self);
  EXPECT_EQ(behaviour_of({Kind::mpich, 4, 0}).mrecv, Behaviour::Raises::on_world);
  EXPECT_EQ(behaviour_of({Kind::open_mpi, 4, 1}).mrecv, Behaviour::Raises::on_its_own);
  EXPECT_EQ(behaviour_of({Kind::mpich, 4, 0}).single_calls, Behaviour::Raises::on_world);
  EXPECT_EQ(behaviour_of({Kind::mpich, 4, 0}).array_calls, Behaviour::Raises::on_world);
  EXPECT_FALSE(behaviour_of({Kind::mpich, 4, 0}).handled_is_success);
  EXPECT_EQ(behaviour_of({Kind::open_mpi, 5, 0}).array_calls, Behaviour::Raises::on_its_own);
  EXPECT_TRUE(behaviour_of({Kind::intel, 2021, 18}).own_order.zero_extent);
  EXPECT_FALSE(behaviour_of({Kind::intel, 2021, 18}).own_order.negative_extent);
  EXPECT_EQ(behaviour_of({Kind::intel, 2021, 18}).single_calls, Behaviour::Raises::on_world);
  const auto other = behaviour_of({}).own_order;
  EXPECT_TRUE(other.stride_of_minus_one && other.empty_struct_member && other.negative_extent && other.zero_extent &&
              other.stride_of_blocklength && other.cyclic_blocks && other.large_elements_off_grid);
}

}  // namespace
}  // namespace dunnage::plan
