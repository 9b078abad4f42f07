#pragma once

#include <string>
#include <vector>

/// Small plots as SVG: points with error bars and curves over a logarithmic axis.
namespace incontext::examples {

struct PlotPoint {
  double x;
  double y;
  double error;  ///< half the length of the bar; 0: none
};

/// A curve through points, or the points alone.
struct Series {
  std::string name;
  bool line;
  std::vector<PlotPoint> points = {};
};

/// One plot of what its title names; its x axis is logarithmic and its y axis linear, from 0 on. There is room for two
/// series.
struct Panel {
  std::string title;
  std::string x_label;
  std::vector<Series> series = {};
};

/// The panels side by side, as the text of an SVG file. A panel needs a point; every x is positive.
std::string svg_of(const std::vector<Panel>& panels);

}  // namespace incontext::examples
