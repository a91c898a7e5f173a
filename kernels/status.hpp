// How an operation went. Values, not exceptions: they cross from a module that is loaded at run time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace servecast::kernels {

class [[nodiscard]] Status {
 public:
  enum class Code : std::uint8_t {
    kOk,
    kInvalid,      // the operation contradicts itself: the caller's mistake
    kUnsupported,  // a sound operation that this back end or architecture does not have; the message names what
    kNoDevice,     // there is no usable CUDA device
    kDevice,       // the device failed
  };

  Status() = default;
  static Status invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }
  static Status unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }
  static Status no_device(std::string message) { return {Code::kNoDevice, std::move(message)}; }
  static Status device(std::string message) { return {Code::kDevice, std::move(message)}; }

  [[nodiscard]] bool ok() const { return code_ == Code::kOk; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code_ = Code::kOk;
  std::string message_;
};

}  // namespace servecast::kernels
