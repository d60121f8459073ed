// An artifact in this process, through its C interface (runtime/relay.h) and nothing else.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "python/signature.h"
#include "runtime/denormals.h"
#include "runtime/relay.h"
#include "toolchain/library.h"

namespace relay::python {

// A file that stays readable after its path was given to another file, or to none.
class HeldFile {
 public:
  HeldFile() = default;
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  // Returns what is wrong, or an empty text. What was held before is let go.
  [[nodiscard]] std::string open(const std::string& path);
  bool is_open() const { return descriptor_ >= 0; }
  // Is this file, and no other, at the path?
  bool is_at(const std::string& path) const;
  // Leads to it in this process.
  std::string path() const;

 private:
  int descriptor_ = -1;
};

class Artifact {
 public:
  Artifact() = default;
  Artifact(const Artifact&) = delete;
  Artifact& operator=(const Artifact&) = delete;
  ~Artifact();

  // Loads the library of an absolute path and opens its model. Returns what is wrong, or an empty
  // text. Holds one file open, or two if the weights are beside the library.
  [[nodiscard]] std::string open(const std::string& path, unsigned threads,
                                 std::optional<Denormals> denormals);
  // The folder that the library lies in goes with this.
  void keep(std::unique_ptr<TemporaryFolder> folder) { folder_ = std::move(folder); }

  const relay_api& api() const { return *api_; }
  const Signature& signature() const { return signature_; }
  // The library that was loaded, whatever is at its path now.
  const HeldFile& library() const { return file_; }
  // The file of weights, open if they are beside the library, and its name, which
  // the library knows.
  const HeldFile& weights() const { return weights_; }
  const std::string& weights_name() const { return weights_name_; }
  const char* description() const { return api_->model_describe(model_); }

  // A context that nobody else has, for the scope: contexts belong to one thread at a time.
  class Borrowed {
   public:
    // Null if there is no memory for one.
    explicit Borrowed(const Artifact& from);
    ~Borrowed();
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    relay_context* get() const { return context_; }
    // Nobody else gets it. It was told to stop and may not know it yet, or it has values
    // that nobody frees.
    void spoil() { is_spoilt_ = true; }

   private:
    const Artifact& from_;
    relay_context* context_ = nullptr;
    bool is_spoilt_ = false;
  };

 private:
  // Loads the library and holds its file.
  [[nodiscard]] std::string load(const std::string& path);

  std::unique_ptr<TemporaryFolder> folder_;  // goes last
  HeldFile file_, weights_;
  std::string weights_name_;
  toolchain::Library library_;
  const relay_api* api_ = nullptr;
  relay_model* model_ = nullptr;
  Signature signature_;
  mutable std::mutex mutex_;
  mutable std::vector<relay_context*> free_;  // guarded by mutex_
};

}  // namespace relay::python
