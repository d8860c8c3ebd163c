// An exported policy in C++ with ONNX Runtime: observations in, actions out, line by line.
//
//   spacil export Hopper-v4 -o robot
//   c++ -std=c++17 -O2 -I $ORT/include control.cpp -o control -L $ORT/lib -lonnxruntime
//   ./control robot/policy.onnx < observations.txt
#include <array>
#include <cstdint>
#include <iostream>
#include <vector>

#include <onnxruntime_cxx_api.h>

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::cerr << "usage: control policy.onnx < observations.txt\n";
        return 2;
    }
    Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "control");
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);  // a small network: a second thread only costs
    Ort::Session session(env, argv[1], options);

    const auto width = [](const Ort::TypeInfo& info) {  // shape [batch, width]
        return info.GetTensorTypeAndShapeInfo().GetShape().at(1);
    };
    std::vector<float> observation(width(session.GetInputTypeInfo(0)));
    std::vector<float> action(width(session.GetOutputTypeInfo(0)));
    const std::array<int64_t, 2> in = {1, int64_t(observation.size())};
    const std::array<int64_t, 2> out = {1, int64_t(action.size())};
    const auto cpu = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    // Tensors that share our memory: the loop allocates nothing.
    auto input = Ort::Value::CreateTensor<float>(cpu, observation.data(), in[1], in.data(), 2);
    auto output = Ort::Value::CreateTensor<float>(cpu, action.data(), out[1], out.data(), 2);
    const char *input_name = "observation", *output_name = "action";

    std::cout.precision(9);
    for (size_t i = 0; std::cin >> observation[i];) {
        if (++i < observation.size()) continue;
        i = 0;
        session.Run(Ort::RunOptions{nullptr}, &input_name, &input, 1, &output_name, &output, 1);
        for (const float& a : action) std::cout << a << (&a == &action.back() ? '\n' : ' ');
    }
}
