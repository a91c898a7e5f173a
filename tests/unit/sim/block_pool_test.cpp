#include "sim/block_pool.hpp"

#include <doctest/doctest.h>

using namespace servecast;

TEST_CASE("blocks are taken in order, and the tail of a released table is reused first among its blocks") {
  BlockPool pool(Blocks{4});
  BlockTable table;
  pool.grow(table, Blocks{3});
  CHECK(table == BlockTable{BlockId{0}, BlockId{1}, BlockId{2}});
  pool.release(table);
  CHECK(pool.free() == Blocks{4});
  pool.grow(table, Blocks{4});  // block 3 was free all along; then the tail, 2, before 1 and 0
  CHECK(table == BlockTable{BlockId{3}, BlockId{2}, BlockId{1}, BlockId{0}});
}

TEST_CASE("A = [0, 1, 2, 3] and B = [0, 1, 4] share two blocks; freeing A frees only its own") {
  BlockPool pool(Blocks{8});
  BlockTable prefix;
  pool.grow(prefix, Blocks{2});
  BlockTable a = pool.share(prefix), b = pool.share(prefix);
  pool.release(prefix);
  pool.grow(a, Blocks{2});
  pool.grow(b, Blocks{1});
  CHECK(pool.references(a[0]) == 2);
  CHECK(pool.references(a[1]) == 2);
  CHECK(pool.references(a[2]) == 1);
  CHECK(pool.references(b[2]) == 1);
  const BlockTable before = a;
  pool.release(a);
  CHECK(pool.references(before[0]) == 1);
  CHECK(pool.references(before[2]) == 0);
  CHECK(pool.free() == Blocks{5});
}

TEST_CASE("20 tokens shared by two in blocks of 16: the half-filled block is copied once, by whoever writes first") {
  BlockPool pool(Blocks{8});
  BlockTable first;
  pool.grow(first, Blocks{2});
  BlockTable second = pool.share(first);
  const auto copy = pool.write(first, 1);
  REQUIRE(copy);
  CHECK(copy->from == second[1]);
  CHECK(copy->to == first[1]);
  CHECK_FALSE(pool.write(second, 1));
  CHECK(pool.references(first[0]) == 2);
  CHECK(pool.free() == Blocks{5});  // three in use
  pool.release(first);
  pool.release(second);
  CHECK(pool.free() == Blocks{8});
}
