#pragma once

#include "layout.hpp"

/// The layouts that do not come from an application: vectors, faces, index lists, an array of
/// structures, a matrix transpose, and the box of the blog post "Improving MPI_Pack performance in
/// CUDA-aware MPI".
namespace bench {

enum class Element { float32, float64 };
Layout vector(Element element, int count, int blocklength, int stride);

/// x is the direction in which the array is contiguous.
enum class Direction { x, y, z };
/// The first `depth` layers inside the halo of an n^3 array of doubles.
Layout face(int n, Direction direction, int depth);

/// A box of bytes inside a cube of 1024^3 bytes, described in the five ways that the blog post
/// compares.
enum class Description { vector_hvector_hvector, vector_hvector, hindexed, hindexed_block, subarray };
Layout byte_box(Description description, int width, int height, int depth);

/// Increasing random places of 1 or 4 doubles.
Layout irregular(int count, int blocklength);

/// An array of struct {int; double[2]; float[5]}.
Layout structures(int count);

/// The columns of an n x n matrix of doubles, one after the other.
Layout transpose(int n);

}  // namespace bench
