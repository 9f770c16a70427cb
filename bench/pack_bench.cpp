// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>

#include <fiber/value.hpp>

// What it costs to pack a value and to unpack it again; pack_bench ROW. See README.md.

namespace {

void pack_double(benchmark::State& state) {
  fiber::Bytes bytes;
  double value = 0.5;
  for (auto _ : state) {
    bytes.clear();
    fiber::Writer writer(bytes);
    fiber::pack(writer, value);
    benchmark::DoNotOptimize(bytes.data());
    benchmark::ClobberMemory(); // The bytes go through memory, as they do on their way.
    fiber::Reader reader(bytes);
    value = fiber::unpack<double>(reader);
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(pack_double);

/// The same with an archive each, as a library without short ways does it.
void archive_double(benchmark::State& state) {
  constexpr auto flags = boost::archive::no_header | boost::archive::no_codecvt;
  double value = 0.5;
  for (auto _ : state) {
    std::stringstream stream;
    boost::archive::binary_oarchive(stream, flags) << value;
    boost::archive::binary_iarchive(stream, flags) >> value;
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(archive_double);

/// One JSON line a benchmark, as all programs here print.
class Lines final : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs)
      std::cout << R"({"name": "pack_double", "value": )" << run.GetAdjustedRealTime()
                << R"(, "unit": "ns"})" << std::endl;
  }
};

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: pack_bench pack_double|archive_double\n";
    return 2;
  }
  Lines lines;
  benchmark::RunSpecifiedBenchmarks(&lines, std::string("^") + argv[1] + "$");
}
