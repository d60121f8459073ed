#include "aot/embedded.h"

#include "aot/embedded_texts.inc"

namespace relay::aot {

const std::string_view kRelayHeader = texts::kRelayHeader;
const std::string_view kRelayVtaHeader = texts::kRelayVtaHeader;
const std::string_view kDlpackHeader = texts::kDlpackHeader;
const std::string_view kDenormalsHeader = texts::kDenormalsHeader;
const std::string_view kUsableCoresHeader = texts::kUsableCoresHeader;
const std::string_view kAlternationSource = texts::kAlternationSource;
const std::string_view kArenasSource = texts::kArenasSource;
const std::string_view kArtifactSource = texts::kArtifactSource;
const std::string_view kBaseSource = texts::kBaseSource;
const std::string_view kBatchesSource = texts::kBatchesSource;
const std::string_view kCpuValueRunSource = texts::kCpuValueRunSource;
const std::string_view kCpuValuesSource = texts::kCpuValuesSource;
const std::string_view kCudaArtifactSource = texts::kCudaArtifactSource;
const std::string_view kCudaEmulationHeader = texts::kCudaEmulationHeader;
const std::string_view kCudaLaunchSource = texts::kCudaLaunchSource;
const std::string_view kCudaMachineSource = texts::kCudaMachineSource;
const std::string_view kCudaModelSource = texts::kCudaModelSource;
const std::string_view kCudaPlanRunSource = texts::kCudaPlanRunSource;
const std::string_view kCudaValueRunSource = texts::kCudaValueRunSource;
const std::string_view kCudaValuesSource = texts::kCudaValuesSource;
const std::string_view kDnnlSource = texts::kDnnlSource;
const std::string_view kExtentsSource = texts::kExtentsSource;
const std::string_view kInterfaceSource = texts::kInterfaceSource;
const std::string_view kMainSource = texts::kMainSource;
const std::string_view kModelSource = texts::kModelSource;
const std::string_view kNoValuesSource = texts::kNoValuesSource;
const std::string_view kNoVtaSource = texts::kNoVtaSource;
const std::string_view kNpySource = texts::kNpySource;
const std::string_view kOutputsSource = texts::kOutputsSource;
const std::string_view kPackageConfig = texts::kPackageConfig;
const std::string_view kPackageConfigVersion = texts::kPackageConfigVersion;
const std::string_view kPackagePc = texts::kPackagePc;
const std::string_view kPythonModule = texts::kPythonModule;
const std::string_view kPlanRunSource = texts::kPlanRunSource;
const std::string_view kReportSource = texts::kReportSource;
const std::string_view kStopSource = texts::kStopSource;
const std::string_view kTensorsSource = texts::kTensorsSource;
const std::string_view kThreadsSource = texts::kThreadsSource;
const std::string_view kValueRunSource = texts::kValueRunSource;
const std::string_view kValuesSource = texts::kValuesSource;
const std::string_view kVtaSource = texts::kVtaSource;
const std::string_view kVtaTablesSource = texts::kVtaTablesSource;
const std::string_view kWeightsFileSource = texts::kWeightsFileSource;

}  // namespace relay::aot
