#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// Small plots as SVG: points with error bars, and curves.
namespace incontext::examples {

struct PlotPoint {
  double x;
  double y;
  double error;  ///< half the length of the bar; 0: none
};

/// A curve through points, or the points alone; hollow ones are for what does not hold. A series without a name is not in
/// the legend, and one of the same color as another can be beside it.
struct Series {
  std::string name;
  bool line;
  std::vector<PlotPoint> points = {};
  bool hollow = false;
  std::optional<std::size_t> color = {};  ///< its number among the plot's colors; by its place if absent
};

enum class Axis { linear, logarithmic };

/// One plot of what its title names; a long title is broken into lines. A linear y axis begins at 0, unless the range
/// is asked for. Every value on a logarithmic axis is positive.
struct Panel {
  std::string title;
  std::string x_label;
  std::vector<Series> series = {};
  Axis x_axis = Axis::logarithmic;
  Axis y_axis = Axis::linear;
  bool from_zero = true;
  std::string y_label = {};
  bool whole_x = false;  ///< a linear x axis of whole numbers
};

/// The colors of a plot: its paper, which may be "none", the lines behind, the words, and the series in turn.
struct PlotColors {
  std::string paper = "white";
  std::string grid = "#d8d8d8";
  std::string words = "#222";
  std::vector<std::string> series = {"#1f5fa8", "#c2410c", "#3f7d20", "#6b3fa0"};
};

/// The panels side by side, as the text of an SVG file. A panel needs a point.
std::string svg_of(const std::vector<Panel>& panels, const PlotColors& colors = {});

}  // namespace incontext::examples
