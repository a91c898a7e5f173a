#include <iostream>
#include <string>
#include <vector>

#include "app/commands/program.hpp"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return servecast::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), std::cout, std::cerr);
}
