#include "examples/support/svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "incontext/core/contracts.hpp"

namespace incontext::examples {

namespace {

constexpr double width = 460, height = 350, left = 58, right = 16, top = 66, bottom = 46;
constexpr const char* colors[] = {"#1f5fa8", "#c2410c", "#3f7d20", "#6b3fa0"};

std::string number(double value) { return short_text(value, 5); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else
      result += c;
  }
  return result;
}

std::string text_at(double x, double y, const std::string& text, const std::string& style) {
  return "<text x='" + number(x) + "' y='" + number(y) + "' " + style + ">" + escaped(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line x1='" + number(x1) + "' y1='" + number(y1) + "' x2='" + number(x2) + "' y2='" + number(y2) + "' " +
         style + "/>\n";
}

/// A step of 1, 2 or 5 times a power of ten, with about five of them in the range.
double step_of(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range <= 6 * factor * power) return factor * power;
  }
  return 10 * power;
}

/// Where points of a panel are in the picture.
struct Scale {
  double first_log, last_log, highest;

  double across(double x) const {
    return left + (std::log10(x) - first_log) / (last_log - first_log) * (width - left - right);
  }
  double up(double y) const { return height - bottom - y / highest * (height - top - bottom); }
};

Scale scale_of(const Panel& panel) {
  Scale scale{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0};
  for (const Series& series : panel.series) {
    for (const PlotPoint& point : series.points) {
      scale.first_log = std::min(scale.first_log, std::log10(point.x));
      scale.last_log = std::max(scale.last_log, std::log10(point.x));
      scale.highest = std::max(scale.highest, point.y + point.error);
    }
  }
  if (!(scale.highest > 0)) scale.highest = 1;
  if (!(scale.last_log > scale.first_log)) scale.last_log = scale.first_log + 1;
  scale.highest *= 1.05;
  return scale;
}

std::string axes(const Panel& panel, const Scale& scale) {
  const std::string grid = "stroke='#d8d8d8' stroke-width='1'", small = "font-size='11' fill='#333' ";
  std::string svg;
  for (int power = static_cast<int>(std::ceil(scale.first_log)); power <= scale.last_log; ++power) {
    const double x = scale.across(std::pow(10, power));
    svg += line(x, top, x, height - bottom, grid);
    svg += text_at(x, height - bottom + 16, short_text(std::pow(10, power), 6), small + "text-anchor='middle'");
  }
  const double step = step_of(scale.highest);
  for (int i = 0; i * step <= scale.highest; ++i) {
    svg += line(left, scale.up(i * step), width - right, scale.up(i * step), grid);
    svg += text_at(left - 6, scale.up(i * step) + 4, short_text(i * step, 4), small + "text-anchor='end'");
  }
  svg += text_at((left + width - right) / 2, height - 10, panel.x_label, small + "text-anchor='middle'");
  svg += text_at(left, 20, panel.title, "font-size='13' fill='#111'");
  return svg;
}

std::string drawn(const Series& series, const Scale& scale, const std::string& color) {
  std::string svg, path;
  for (const PlotPoint& point : series.points) {
    const double x = scale.across(point.x), y = scale.up(point.y);
    if (series.line) {
      path += (path.empty() ? "" : " ") + number(x) + "," + number(y);
      continue;
    }
    if (point.error > 0) {
      svg += line(x, scale.up(point.y - point.error), x, scale.up(point.y + point.error), "stroke='" + color + "'");
    }
    svg += "<circle cx='" + number(x) + "' cy='" + number(y) + "' r='3.5' fill='" + color + "'/>\n";
  }
  if (series.line) {
    svg += "<polyline points='" + path + "' fill='none' stroke='" + color + "' stroke-width='2'/>\n";
  }
  return svg;
}

std::string drawn(const Panel& panel) {
  const Scale scale = scale_of(panel);
  std::string svg = axes(panel, scale);
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const std::string color = colors[i % 4];
    svg += drawn(panel.series[i], scale, color);
    const double y = 38 + 16 * static_cast<double>(i);
    svg += text_at(left, y, panel.series[i].name, "font-size='11' fill='" + color + "'");
  }
  return svg;
}

}  // namespace

std::string svg_of(const std::vector<Panel>& panels) {
  const double all = width * static_cast<double>(panels.size());
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' width='" + number(all) + "' height='" + number(height) +
                    "' font-family='sans-serif'>\n<rect width='100%' height='100%' fill='white'/>\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    svg +=
        "<g transform='translate(" + number(width * static_cast<double>(i)) + " 0)'>\n" + drawn(panels[i]) + "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace incontext::examples
