#include "tools/page/page.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/escape.h"
#include "tools/page_text.inc"

namespace relay::tools {
namespace {

// Hues this far apart stay different for any number of kernels: the golden angle, in degrees.
constexpr double kHueStep = 137.5;
constexpr double kFirstHue = 210;

std::string hue(size_t kernel) {
  const double degrees = kFirstHue + kHueStep * static_cast<double>(kernel);
  return fmt::format("--hue:{}", static_cast<int>(degrees) % 360);
}

// "k3" of "k3_nn_conv2d": what tells kernels apart comes first in their names.
std::string short_name(const LinkedKernel& k) { return k.name.substr(0, k.name.find('_')); }

std::vector<std::string_view> lines_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string_view> out;
  while (true) {
    const size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string chip(const Lineage& l, size_t kernel) {
  return fmt::format("<a class=\"chip\" style=\"{}\" href=\"#loops-{}\" title=\"{}\">{}</a>", hue(kernel),
                     kernel, html_text(l.kernels[kernel].name), html_text(short_name(l.kernels[kernel])));
}

// Lines of the model or of the program: each names the nodes and the kernels that it belongs to.
std::string linked_lines(const Lineage& l, const std::vector<LinkedLine>& lines, std::string_view pane) {
  std::string out = "<ol class=\"lines wrap\">\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    const LinkedLine& line = lines[i];
    out += cat("<li id=\"", pane, "-", i, "\"");
    if (!line.nodes.empty()) out += cat(" class=\"link\" data-n=\"", join(line.nodes, " "), "\"");
    if (!line.kernels.empty())
      out += cat(" data-k=\"", join(line.kernels, " "), "\" style=\"", hue(line.kernels[0]), "\"");
    out += "><span class=\"chips\">";
    for (size_t k : line.kernels) out += chip(l, k);
    out += cat("</span><span class=\"no\">", i + 1, "</span><code>", html_text(line.text), "</code></li>\n");
  }
  return out + "</ol>";
}

// What one kernel has in a pane.
std::string block(const Lineage& l, size_t kernel, std::string_view pane, std::string_view lines,
                  size_t count) {
  const LinkedKernel& k = l.kernels[kernel];
  return fmt::format(
      "<section class=\"block link\" id=\"{0}-{1}\" data-k=\"{1}\" style=\"{2}\" aria-label=\"{3}\">"
      "<h3><span class=\"chip\">{4}</span> {3} <small>{5}</small></h3>\n<ol "
      "class=\"lines\">\n{6}</ol></section>\n",
      pane, kernel, hue(kernel), html_text(k.name), html_text(short_name(k)), counted(count, "line"), lines);
}

std::string loops(const Lineage& l) {
  std::string out;
  for (size_t i = 0; i < l.kernels.size(); ++i) {
    const auto lines = lines_of(l.kernels[i].loops);
    std::string text;
    for (std::string_view line : lines) text += cat("<li><code>", html_text(line), "</code></li>\n");
    out += block(l, i, "loops", text, lines.size());
  }
  return out;
}

std::string cpp(const Lineage& l) {
  std::string out;
  for (size_t i = 0; i < l.kernels.size(); ++i) {
    const auto lines = lines_of(l.kernels[i].cpp);
    std::string text;
    for (size_t n = 0; n < lines.size(); ++n)
      text += fmt::format("<li id=\"cpp-{0}-{1}\" data-c=\"{1}\"><code>{2}</code></li>\n", i, n + 1,
                          html_text(lines[n]));
    out += block(l, i, "cpp", text, lines.size());
  }
  return out;
}

std::string assembly(const Lineage& l) {
  if (!l.no_assembly.empty()) return cat("<p class=\"none\">", html_text(l.no_assembly), "</p>");
  std::string out;
  for (size_t i = 0; i < l.kernels.size(); ++i) {
    const size_t last = lines_of(l.kernels[i].cpp).size();
    std::string text;
    for (const AssemblyLine& line : l.kernels[i].assembly) {
      const bool known = line.source_line > 0 && line.source_line <= last;
      text += cat("<li", known ? cat(" data-c=\"", line.source_line, "\"") : "", "><code>",
                  html_text(line.text), "</code></li>\n");
    }
    out += block(l, i, "asm", text, l.kernels[i].assembly.size());
  }
  return out;
}

std::string microseconds(double seconds) { return fmt::format("{:.2f} µs", seconds * 1e6); }

std::string row(const Lineage& l, const Figures& figures, size_t i, double all) {
  const LinkedKernel& k = l.kernels[i];
  const KernelFigures& f = figures.kernels[i];
  std::string nodes;
  for (size_t n : k.nodes)
    nodes += cat(nodes.empty() ? "" : " ", "<a href=\"#model-", n, "\" title=\"", html_text(l.model[n].text),
                 "\">", n + 1, "</a>");
  std::string out = fmt::format(
      "<tr id=\"row-{0}\" class=\"link\" data-k=\"{0}\" style=\"{1}\">"
      "<th scope=\"row\"><button type=\"button\" class=\"pick\"><span class=\"chip\">{2}</span> "
      "{3}</button></th>"
      "<td>{4}</td><td>{5}</td>",
      i, hue(i), html_text(short_name(k)), html_text(k.name), html_text(k.origin), nodes);
  if (!f.uncompared.empty()) {
    out += cat("<td colspan=\"3\">", html_text(f.uncompared), "</td>");
  } else {
    const Comparison& c = f.worst;
    out += fmt::format(
        "<td class=\"number\">{:.2g}</td><td class=\"number\">{:.2g}</td><td class=\"{}\">{}</td>", c.error,
        c.bound, c.ok ? "good" : "bad", c.ok ? fmt::format("{:.0f} %", 100 * c.needed) : "more than all");
  }
  const double share = all > 0 ? 100 * f.seconds / all : 0;
  out += fmt::format(
      "<td class=\"time\"><span class=\"bar\" style=\"width:{:.1f}%\"></span><span>{}{}</span></td></tr>\n",
      share, microseconds(f.seconds), f.calls > 1 ? cat(" in ", f.calls, " calls") : "");
  return out;
}

std::string table(const Lineage& l, const Figures& figures) {
  double all = 0;
  for (const KernelFigures& f : figures.kernels) all += f.seconds;
  std::string out;
  for (size_t i = 0; i < l.kernels.size(); ++i) out += row(l, figures, i, all);
  return out;
}

// Nodes that no kernel has anything of.
std::string left_over(const Lineage& l) {
  std::string out;
  size_t count = 0;
  for (size_t n = 0; n < l.model.size(); ++n) {
    if (!l.model[n].kernels.empty()) continue;
    out += cat(count++ == 0 ? "" : ", ", "<a href=\"#model-", n, "\">", n + 1, "</a>");
  }
  if (count == 0) return "";
  return cat("<p class=\"note\">No kernel has anything of node", count == 1 ? " " : "s ", out, ".</p>");
}

// A square of each pixel, darker for larger values.
std::string picture(const PagePicture& p) {
  if (p.side == 0) return "";
  std::string out = fmt::format(
      "<figure><svg viewBox=\"0 0 {0} {0}\" role=\"img\" aria-label=\"{1}\" shape-rendering=\"crispEdges\">",
      p.side, html_text(p.caption));
  for (int64_t i = 0; i < p.side * p.side; ++i) {
    const double value = p.pixels[static_cast<size_t>(i)];
    if (value < 8) continue;  // hardly to be seen
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"1\" height=\"1\" fill-opacity=\"{:.2f}\"/>",
                       i % p.side, i / p.side, value / 255);
  }
  return cat(out, "</svg><figcaption>", html_text(p.caption), "</figcaption></figure>");
}

// The template with each {{name}} replaced. What is put in is not looked at again.
std::string filled(std::string_view form, const std::map<std::string_view, std::string>& by) {
  std::string out;
  while (true) {
    const size_t begin = form.find("{{");
    out += form.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const size_t end = form.find("}}", begin);
    CHECK(end != std::string_view::npos, "a name that does not end");
    const auto found = by.find(form.substr(begin + 2, end - begin - 2));
    CHECK(found != by.end(), "tools/page/page.html asks for what is not there");
    out += found->second;
    form.remove_prefix(end + 2);
  }
}

}  // namespace

std::string page_of(const PageContents& contents, const Lineage& l, const Figures& figures) {
  size_t instructions = 0;
  for (const LinkedKernel& k : l.kernels) instructions += k.assembly.size();
  return filled(texts::kPageHtml, {{"style", std::string(texts::kPageCss)},
                                   {"script", std::string(texts::kPageScript)},
                                   {"title", html_text(contents.title)},
                                   {"picture", picture(contents.picture)},
                                   {"nodes", counted(l.model.size(), "node")},
                                   {"kernels", counted(l.kernels.size(), "kernel")},
                                   {"instructions", counted(instructions, "line")},
                                   {"compiler", html_text(l.compiler)},
                                   {"rows", table(l, figures)},
                                   {"left_over", left_over(l)},
                                   {"total", microseconds(figures.seconds)},
                                   {"model", linked_lines(l, l.model, "model")},
                                   {"program", linked_lines(l, l.program, "program")},
                                   {"loops", loops(l)},
                                   {"cpp", cpp(l)},
                                   {"asm", assembly(l)}});
}

}  // namespace relay::tools
