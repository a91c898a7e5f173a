#include "kernels/gpu_check/json.hpp"

#include <doctest/doctest.h>
#include <limits>

namespace servecast::kernels::gpu_check {
namespace {

TEST_CASE("an object is written in the order of its fields, with numbers that round-trip") {
  JsonObject inner;
  inner.add("m", std::int32_t{1});
  JsonObject object;
  object.add("name", "a \"b\"\n").add("third", 1.0 / 3).add("none", std::numeric_limits<double>::infinity());
  object.add("yes", true).add("list", std::vector<double>{1, 2.5}).add("parts", std::vector<JsonObject>{inner, inner});
  CHECK(object.text() ==
        "{\"name\":\"a \\\"b\\\"\\u000a\",\"third\":0.3333333333333333,\"none\":null,\"yes\":true,\"list\":[1,2.5],"
        "\"parts\":[{\"m\":1},{\"m\":1}]}");
}

TEST_CASE("a field is read back as it was written") {
  JsonObject object;
  object.add("operator", "gemm").add("ok", false).add("median_s", 1.5e-7);
  const std::string text = object.text();
  CHECK(json_field(text, "operator") == "gemm");
  CHECK(json_field(text, "ok") == "false");
  CHECK(json_field(text, "median_s") == "1.5e-07");
  CHECK(json_field(text, "absent").empty());
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
