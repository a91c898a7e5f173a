// One lambda for each alternative of a variant: std::visit(Overloaded{...}, variant).
#pragma once

namespace servecast {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace servecast
