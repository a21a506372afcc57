// A reference to something callable, for parameters of functions that would be templates otherwise.
// It adds one function for each lambda expression, where std::function adds four.
#pragma once

template <class Signature>
class FunctionRef;

// The callable must outlive the reference.
template <class Result, class... A>
class FunctionRef<Result(A...)> {
 public:
  template <class F>
  FunctionRef(const F& f)
      : object_(&f),
        call_([](const void* object, A... a) -> Result { return (*static_cast<const F*>(object))(a...); }) {}
  Result operator()(A... a) const { return call_(object_, a...); }

 private:
  const void* object_;
  Result (*call_)(const void*, A...);
};
