// The examples that train by a compiled step, on data that are made here. They need NumPy; progress
// bars and curves are left out.
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class Train : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    // Ten patterns with noise, 40 images of each.
    const Ended made = python(
        "import numpy as np\n"
        "random = np.random.default_rng(0)\n"
        "labels = np.arange(400) % 10\n"
        "images = random.random((10, 64))[labels] + random.normal(0, 0.3, (400, 64))\n"
        "np.savez('data.npz', images=images, labels=labels)\n");
    ASSERT_EQ(made.exit_code, 0) << "apt-get install python3-numpy: " << made.err;
  }

  // A program that finds examples/train_digits, and the words of the command in `train`.
  Ended python(const std::string& program) const {
    const std::string head =
        "import sys, subprocess, time, os\nsys.dont_write_bytecode = True\nsys.path.insert(0, '" +
        of_checkout("examples/train_digits") + "')\ntrain = [sys.executable, '-B', '" +
        of_checkout("examples/train_digits/train.py") + "', '--relay', '" + of_checkout("tools/relay") +
        "', '--data', 'data.npz']\n";
    return run({.command = {"/usr/bin/python3", "-c", head + program},
                .folder = path(""),
                .environment = {{"TMPDIR", temporary()}, {"XDG_CACHE_HOME", cache()}}});
  }
  void prints(const std::string& program, const std::string& out) const {
    const Ended ended = python(program);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.out, out) << ended.err;
  }
  void says(const std::string& words, const std::string& message) const {
    const Ended ended = python("sys.exit(subprocess.run(train + [" + words + "]).returncode)");
    EXPECT_EQ(ended.exit_code, 1) << words;
    EXPECT_NE(ended.err.find(message), std::string::npos) << words << ": " << ended.err;
    EXPECT_EQ(ended.err.find("Traceback"), std::string::npos) << ended.err;
  }
};

TEST_F(Train, TheLossFalls) {
  for (const std::string network : {"mlp", "cnn"}) {
    prints(
        "import training\n"
        "subprocess.run(train + ['" +
            network +
            "', '--steps', '40'], check=True, stdout=subprocess.DEVNULL)\n"
            "losses = training.load('digits/" +
            network +
            ".safetensors')[0]['losses']\n"
            "print(len(losses), 1.8 < losses[0] < 6, losses[-5:].mean() < losses[0] / 3)\n",
        "40 True True\n");
  }
}

// Through recursive functions: over a text that repeats itself, and over trees.
TEST_F(Train, TheLossOfRecursiveNetworksFalls) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "all work and no play\n";
  write("text.txt", text);
  const std::string head =
      "import training\n"
      "def train_by(folder, network, *words):\n"
      "  program = os.path.join(os.path.dirname(training.HERE), folder, 'train.py')\n"
      "  subprocess.run([sys.executable, '-B', program, '--relay', train[4], '--folder', 'out', *words],\n"
      "                 check=True, stdout=subprocess.DEVNULL)\n"
      "  return training.load('out/' + network + '.safetensors')[0]['losses']\n";
  prints(head +
             "losses = train_by('train_char_rnn', 'lstm', '--data', 'text.txt', '--steps', '25')\n"
             "print(len(losses), 4 < losses[0] < 6, losses[-1] < losses[0] / 1.5)\n",
         "25 True True\n");
  prints(head +
             "losses = train_by('train_tree_lstm', 'tree_lstm', '--steps', '160')\n"
             "print(len(losses), losses[:20].mean() > 0.5, losses[-20:].mean() < 0.45)\n",
         "160 True True\n");
}

// A run that is killed, goes on and ends leaves the bytes of one that nobody stopped.
TEST_F(Train, GoesOnAfterAKill) {
  prints(
      "import training\n"
      "words = train + ['cnn', '--save-every', '1']\n"
      "file = 'killed/cnn.safetensors'\n"
      "killed = subprocess.Popen(words + ['--folder', 'killed', '--steps', '1000000'])\n"
      "while not os.path.exists(file) or len(training.load(file)[0]['losses']) < 10:\n"
      "  assert killed.poll() is None, 'it ended by itself'\n"
      "  time.sleep(0.01)\n"
      "killed.kill()\n"
      "killed.wait()\n"
      "reached = len(training.load(file)[0]['losses'])\n"
      "for folder in ('killed', 'whole'):\n"
      "  out = subprocess.run(words + ['--folder', folder, '--steps', str(reached + 7)], check=True, "
      "stdout=subprocess.PIPE)\n"
      "  print(b'goes on after step %d of' % reached in out.stdout)\n"
      "print(open(file, 'rb').read() == open(file.replace('killed', 'whole'), 'rb').read())\n",
      "True\nFalse\nTrue\n");
}

TEST_F(Train, SaysWhatIsWrong) {
  says("'mlp', '--data', 'nowhere.npz'", "nowhere.npz is no .npz file of `images` and `labels`");
  says("'mlp', '--relay', './nowhere'", "./nowhere: No such file or directory; --relay names the command");
  prints("subprocess.run(train + ['mlp', '--steps', '1'], check=True, stdout=subprocess.DEVNULL)\n", "");
  says("'mlp', '--steps', '2', '--seed', '9'", "give another --folder");
  const std::string whole = read("digits/mlp.safetensors");
  write("digits/mlp.safetensors", whole.substr(0, whole.size() - 9));
  says("'mlp', '--steps', '2'", "digits/mlp.safetensors is no whole checkpoint");
  write("digits/mlp.safetensors", whole.substr(0, 100));
  says("'mlp', '--steps', '2'", "digits/mlp.safetensors is no whole checkpoint");
  write("digits/mlp.safetensors", std::string("\1\0\0\0\0\0\0\0"
                                              "5",
                                              9));  // a number for a header
  says("'mlp', '--steps', '2'", "digits/mlp.safetensors is no whole checkpoint");
}

}  // namespace
}  // namespace relay::tests
