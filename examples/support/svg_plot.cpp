#include "examples/support/svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>

#include "incontext/core/contracts.hpp"

namespace incontext::examples {

namespace {

constexpr double width = 460, plot_height = 238, right = 22, bottom = 46;
constexpr double title_height = 18, above_title = 16, name_height = 16;
constexpr std::size_t title_letters = 54;  // of a line, at the title's size

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

/// One axis: which part of it is a value.
struct Scale {
  double first = std::numeric_limits<double>::infinity(), last = -std::numeric_limits<double>::infinity();
  bool logarithmic;

  double position(double value) const { return logarithmic ? std::log10(value) : value; }
  double share(double value) const { return (position(value) - first) / (last - first); }
  void include(double value) {
    if (logarithmic && !(value > 0)) return;
    first = std::min(first, position(value));
    last = std::max(last, position(value));
  }
  void widen(double share) {
    if (!(last > first)) last = first + (logarithmic ? 1 : std::max(std::abs(first), 1.0));
    const double room = share * (last - first);
    first -= room;
    last += room;
  }
};

/// Where points of a panel are in the picture.
struct Picture {
  Scale x, y;
  double top, left;

  double bottom_edge() const { return top + plot_height; }
  double across(double value) const { return left + x.share(value) * (width - left - right); }
  double up(double value) const { return bottom_edge() - std::clamp(y.share(value), 0.0, 1.0) * plot_height; }
};

/// A text in lines of at most `most` letters, broken between words.
std::vector<std::string> lines_of(const std::string& text, std::size_t most) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& last = lines.back();
    if (last.empty()) {
      last = word;
    } else if (last.size() + 1 + word.size() <= most) {
      last += ' ' + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

/// Where the names of the series begin.
double below_title(const Panel& panel) {
  return above_title + title_height * static_cast<double>(lines_of(panel.title, title_letters).size());
}

double height_of(const Panel& panel) {
  const auto names = std::count_if(panel.series.begin(), panel.series.end(),
                                   [](const Series& series) { return !series.name.empty(); });
  return below_title(panel) + name_height * static_cast<double>(names) + plot_height + bottom;
}

Picture picture_of(const Panel& panel) {
  Picture picture{.x = {.logarithmic = panel.x_axis == Axis::logarithmic},
                  .y = {.logarithmic = panel.y_axis == Axis::logarithmic},
                  .top = height_of(panel) - bottom - plot_height,
                  .left = panel.y_label.empty() ? 58.0 : 74.0};
  for (const Series& series : panel.series) {
    for (const PlotPoint& point : series.points) {
      picture.x.include(point.x);
      picture.y.include(point.y);
      picture.y.include(point.y + point.error);
      if (!picture.y.logarithmic) picture.y.include(point.y - point.error);
    }
  }
  if (!picture.x.logarithmic) picture.x.widen(0.03);
  if (picture.x.logarithmic) picture.x.widen(0);
  const bool from_zero = panel.from_zero && !picture.y.logarithmic && picture.y.first >= 0;
  picture.y.widen(0.05);
  if (from_zero) picture.y.first = 0;
  return picture;
}

/// The values at which an axis has a line: powers of ten, or if there are fewer than two, and on linear axes, steps.
std::vector<double> marks_of(const Scale& scale, bool whole) {
  std::vector<double> marks;
  const double room = 1e-9 * (scale.last - scale.first);
  if (scale.logarithmic) {
    const double first = std::ceil(scale.first - room), last = std::floor(scale.last + room);
    const double stride = std::max(std::ceil((last - first) / 7), 1.0);
    for (double power = first; power <= last; power += stride) marks.push_back(std::pow(10, power));
    if (marks.size() > 1) return marks;
    marks.clear();
  }
  const double low = scale.logarithmic ? std::pow(10, scale.first) : scale.first;
  const double high = scale.logarithmic ? std::pow(10, scale.last) : scale.last;
  const double step = whole ? std::max(step_of(high - low), 1.0) : step_of(high - low);
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    if (!scale.logarithmic || i > 0) marks.push_back(i * step);
  }
  return marks;
}

std::string axes(const Panel& panel, const Picture& picture, const PlotColors& colors) {
  const std::string grid = "stroke='" + colors.grid + "' stroke-width='1'";
  const std::string small = "font-size='11' fill='" + colors.words + "' ";
  const double low = picture.bottom_edge(), left = picture.left;
  std::string svg;
  for (const double mark : marks_of(picture.x, panel.whole_x)) {
    const double x = picture.across(mark);
    svg += line(x, picture.top, x, low, grid);
    svg += text_at(x, low + 16, short_text(mark, 6), small + "text-anchor='middle'");
  }
  for (const double mark : marks_of(picture.y, false)) {
    const double y = picture.up(mark);
    svg += line(left, y, width - right, y, grid);
    svg += text_at(left - 6, y + 4, short_text(std::abs(mark) < 1e-12 ? 0 : mark, 4), small + "text-anchor='end'");
  }
  svg += text_at((left + width - right) / 2, low + 36, panel.x_label, small + "text-anchor='middle'");
  if (!panel.y_label.empty()) {
    const double y = (picture.top + low) / 2;
    svg += text_at(14, y, panel.y_label, small + "text-anchor='middle' transform='rotate(-90 14 " + number(y) + ")'");
  }
  double y = 20;
  for (const std::string& one : lines_of(panel.title, title_letters)) {
    svg += text_at(left, y, one, "font-size='13' fill='" + colors.words + "'");
    y += title_height;
  }
  return svg;
}

std::string drawn(const Series& series, const Picture& picture, const std::string& color) {
  std::string svg, path;
  for (const PlotPoint& point : series.points) {
    const double x = picture.across(point.x), y = picture.up(point.y);
    if (series.line) {
      path += (path.empty() ? "" : " ") + number(x) + "," + number(y);
      continue;
    }
    if (point.error > 0) {
      const double least = picture.y.logarithmic ? std::max(point.y - point.error, std::pow(10, picture.y.first))
                                                 : point.y - point.error;
      svg += line(x, picture.up(least), x, picture.up(point.y + point.error), "stroke='" + color + "'");
    }
    const std::string fill = series.hollow ? "fill='none' stroke='" + color + "'" : "fill='" + color + "'";
    svg += "<circle cx='" + number(x) + "' cy='" + number(y) + "' r='3.5' " + fill + "/>\n";
  }
  if (series.line) {
    svg += "<polyline points='" + path + "' fill='none' stroke='" + color + "' stroke-width='2'/>\n";
  }
  return svg;
}

std::string drawn(const Panel& panel, const PlotColors& colors) {
  const Picture picture = picture_of(panel);
  std::string svg = axes(panel, picture, colors);
  double y = below_title(panel) + 4;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    const std::string color = colors.series[series.color.value_or(i) % colors.series.size()];
    svg += drawn(series, picture, color);
    if (series.name.empty()) continue;
    svg += text_at(picture.left, y, series.name, "font-size='11' fill='" + color + "'");
    y += name_height;
  }
  return svg;
}

}  // namespace

std::string svg_of(const std::vector<Panel>& panels, const PlotColors& colors) {
  double height = 0;
  for (const Panel& panel : panels) height = std::max(height, height_of(panel));
  const std::string all = number(width * static_cast<double>(panels.size())), high = number(height);
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' width='" + all + "' height='" + high + "' viewBox='0 0 " +
                    all + " " + high + "' font-family='sans-serif'>\n<rect width='100%' height='100%' fill='" +
                    colors.paper + "'/>\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    svg += "<g transform='translate(" + number(width * static_cast<double>(i)) + " 0)'>\n" + drawn(panels[i], colors) +
           "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace incontext::examples
