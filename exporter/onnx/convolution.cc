// Convolutions, transposed ones, and pooling.
#include <algorithm>

#include "exporter/onnx/rows.h"

namespace relay::exporter {
namespace {

// The axes of `from` in the order of `to`: letters of layouts.
std::vector<int64_t> order(const std::string& from, const std::string& to) {
  std::vector<int64_t> axes;
  for (char c : to) axes.push_back(static_cast<int64_t>(from.find(c)));
  return axes;
}

// The documented default, such as NCHW, which is ONNX's own.
std::string own_layout(std::string_view letters, size_t spatial) {
  constexpr std::string_view kSpatial = "DHW";
  return std::string(letters) + std::string(kSpatial.substr(3 - spatial));
}

std::vector<int64_t> filled(std::vector<int64_t> v, size_t count) {
  return v.size() == 1 ? std::vector<int64_t>(count, v[0]) : v;
}

struct Windows {
  size_t spatial;
  std::vector<int64_t> kernel, strides, pads, dilations;

  Attributes attributes() const {
    return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}};
  }
};

Windows windows_of(Site& s, std::vector<int64_t> kernel) {
  Windows w;
  w.spatial = s.type(0).rank() - 2;
  w.kernel = filled(std::move(kernel), w.spatial);
  w.strides = filled(s.attrs().ints("strides"), w.spatial);
  w.dilations = filled(s.attrs().ints("dilation"), w.spatial);
  w.pads = filled(s.attrs().ints("padding"), w.spatial);
  if (w.pads.size() == w.spatial) w.pads.insert(w.pads.end(), w.pads.begin(), w.pads.end());
  return w;
}

// The extents of the weight's windows.
std::vector<int64_t> window_of_weight(Site& s, const std::vector<int64_t>& axes) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < axes.size(); ++i) {
    const Dim d = s.type(1).dims[static_cast<size_t>(axes[i])];
    s.require(d.is_const(), "the windows of the weight have no constant extents");
    kernel.push_back(d.value());
  }
  return kernel;
}

bool is_small_int(DType d) { return d == kInt8 || d == kUInt8; }

// The layout of the result; "" stands for that of the data.
std::string result_layout(Site& s, const std::string& data) {
  const std::string out = s.attrs().text("out_layout");
  return out.empty() ? data : out;
}

Names convolve(Site& s, bool transposed) {
  const size_t spatial = s.type(0).rank() - 2;
  const std::string plain = own_layout("NC", spatial),
                    plain_kernel = own_layout(transposed ? "IO" : "OI", spatial);
  const std::string layout = s.attrs().text("data_layout"), kernel_layout = s.attrs().text("kernel_layout");
  const std::string out_layout = result_layout(s, layout);
  const std::vector<int64_t> kernel_axes = order(kernel_layout, plain_kernel);
  const Windows w = windows_of(s, window_of_weight(s, kernel_axes));
  const DType data = s.type(0).dtype, weight = s.type(1).dtype, out = s.result().dtype;
  const bool integers = is_small_int(data) && is_small_int(weight) && out == kInt32 && !transposed;
  s.require(integers || (data.is_float() && weight == data && out == data),
            "ONNX has no convolution of these dtypes that gives this one");
  Attributes attributes = w.attributes();
  attributes.emplace_back("group", s.attrs().integer("groups"));
  if (transposed)
    attributes.emplace_back("output_padding", filled(s.attrs().ints("output_padding"), spatial));
  const std::string x = s.transpose(s.arg(0), order(layout, plain));
  const std::string k = s.transpose(s.arg(1), kernel_axes);
  const char* op = transposed ? "ConvTranspose" : integers ? "ConvInteger" : "Conv";
  return {s.transpose(s.node(op, {x, k}, attributes), order(plain, out_layout))};
}

Names convolution(Site& s) { return convolve(s, false); }
Names transposed_convolution(Site& s) { return convolve(s, true); }

// Every window has an element of the data, as ONNX wants it.
void require_elements(Site& s, const Windows& w) {
  for (size_t i = 0; i < w.spatial; ++i) {
    const int64_t reach = std::max(w.pads[i], w.pads[i + w.spatial]);
    s.require(reach < w.kernel[i], "its padding is as wide as its window, which ONNX does not have");
  }
}

Names pool(Site& s, const char* op, bool mean) {
  const Windows w = windows_of(s, s.attrs().ints("pool_size"));
  require_elements(s, w);
  const DType dtype = s.type(0).dtype;
  s.require(dtype.is_float() || (!mean && is_small_int(dtype)), "ONNX does not pool this dtype");
  const bool ceil = s.attrs().flag("ceil_mode");
  Attributes attributes = w.attributes();
  attributes.emplace_back("ceil_mode", ceil);
  if (mean) {
    const bool counts = s.attrs().flag("count_include_pad");
    s.require(!ceil || !counts, "runtimes differ in what a last window beyond the padding counts");
    attributes.emplace_back("count_include_pad", counts);
  }
  const std::string plain = own_layout("NC", w.spatial), layout = s.attrs().text("layout");
  const std::string x = s.transpose(s.arg(0), order(layout, plain));
  return {s.transpose(s.node(op, {x}, attributes), order(plain, result_layout(s, layout)))};
}

Names max_pool(Site& s) { return pool(s, "MaxPool", false); }
Names average_pool(Site& s) { return pool(s, "AveragePool", true); }

Names global_average(Site& s) { return {s.node("GlobalAveragePool", {s.arg(0)})}; }
Names global_maximum(Site& s) { return {s.node("GlobalMaxPool", {s.arg(0)})}; }

bool is_plain_image(const CallAttrs& a, const Call& call) {
  const std::string out = a.text("out_layout");
  return a.text("layout") == "NCHW" && (out.empty() || out == "NCHW") &&
         call.type->as<TensorType>()->dtype.is_float();
}

constexpr Row kRows[] = {
    {"nn.avg_pool1d", average_pool},
    {"nn.avg_pool2d", average_pool},
    {"nn.avg_pool3d", average_pool},
    {"nn.conv1d", convolution},
    {"nn.conv1d_transpose", transposed_convolution},
    {"nn.conv2d", convolution},
    {"nn.conv2d_transpose", transposed_convolution},
    {"nn.conv3d", convolution},
    {"nn.conv3d_transpose", transposed_convolution},
    {"nn.global_avg_pool2d", global_average, is_plain_image},
    {"nn.global_max_pool2d", global_maximum, is_plain_image},
    {"nn.max_pool1d", max_pool},
    {"nn.max_pool2d", max_pool},
    {"nn.max_pool3d", max_pool},
};

}  // namespace

std::span<const Row> convolution_rows() { return kRows; }

}  // namespace relay::exporter
