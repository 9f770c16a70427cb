// SPDX-License-Identifier: Apache-2.0
#include "rl/mujoco/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "rl/mujoco/solid.hpp"

namespace fiber::rl::mujoco {
namespace {
namespace drawing {

constexpr int width = 400, height = 300;
constexpr int fine = 2; // Samples of a pixel, along each side.
constexpr int shades = 16;
constexpr Vector paper{250, 250, 247}, light_tile{226, 228, 230},
  dark_tile{205, 208, 212};
constexpr double shadow = 0.78; // How bright a shadow is.
const Vector to_light = unit({-0.35, -0.55, 1});

/// Where a sample's ray begins and where it goes.
class Camera {
public:
  Camera(Vector target, const View& view) {
    const double up = view.up * std::numbers::pi / 180;
    const double turn = view.turn * std::numbers::pi / 180;
    const Vector forward{std::sin(turn) * std::cos(up), std::cos(turn) * std::cos(up),
                         -std::sin(up)};
    from_ = target - view.distance * forward;
    right_ = {std::cos(turn), -std::sin(turn), 0};
    up_ = {std::sin(turn) * std::sin(up), std::cos(turn) * std::sin(up), std::cos(up)};
    forward_ = forward;
  }

  Ray ray(double x, double y) const {
    const double right = (x - width * fine / 2.0) / focus;
    const double up = (height * fine / 2.0 - y) / focus;
    return {from_, unit(forward_ + right * right_ + up * up_)};
  }

  struct Window {
    int left = 0, top = 0, right = width * fine, bottom = height * fine;
  };

  /// The samples that a ball can be in.
  Window window(Vector center, double radius) const {
    const Vector to = center - from_;
    const double depth = dot(to, forward_);
    if (depth <= 2 * radius)
      return {};
    const double reach = focus * radius / (depth - radius) * 1.1 + 1;
    const double x = width * fine / 2.0 + focus * dot(to, right_) / depth;
    const double y = height * fine / 2.0 - focus * dot(to, up_) / depth;
    const auto inside = [](double at, int size) {
      return static_cast<int>(std::clamp(at, 0.0, double(size)));
    };
    return {inside(x - reach, width * fine), inside(y - reach, height * fine),
            inside(x + reach + 1, width * fine), inside(y + reach + 1, height * fine)};
  }

private:
  // For 45 degrees from top to bottom.
  static constexpr double focus = height * fine / 2.0 / 0.41421356;
  Vector from_, right_, up_, forward_;
};

struct Sample {
  double depth = HUGE_VAL;
  Vector color = paper;
};

Vector mixed(Vector a, Vector b, double part) {
  return a + part * (b - a);
}

/// One of a few steps from 0 to 1.
double stepped(double value, int steps) {
  return std::round(std::clamp(value, 0.0, 1.0) * steps) / steps;
}

Vector color_of(const mjModel& model, int geom) {
  const int material = model.geom_matid[geom];
  const float* rgba = material >= 0 ? model.mat_rgba + std::ptrdiff_t{4} * material
                                    : model.geom_rgba + std::ptrdiff_t{4} * geom;
  return 255.0 * Vector{rgba[0], rgba[1], rgba[2]};
}

Vector shaded(Vector color, double brightness) {
  const Vector dark = 0.45 * color, bright = mixed(color, {255, 255, 255}, 0.25);
  return brightness < 0.6 ? mixed(dark, color, brightness / 0.6)
                          : mixed(color, bright, (brightness - 0.6) / 0.4);
}

class Scene {
public:
  Scene(const Simulation& simulation, const View& view)
    : model_(simulation.model()), camera_(target(simulation, view), view),
      distance_(view.distance),
      samples_(static_cast<std::size_t>(width * fine * height * fine)) {
    const auto& data = simulation.data();
    for (int geom = 0; geom < model_.ngeom; ++geom) {
      if (model_.geom_rgba[std::ptrdiff_t{4} * geom + 3] <= 0)
        continue; // It is not to be seen.
      solids_.emplace_back(model_, data, geom);
      colors_.push_back(color_of(model_, geom));
    }
  }

  Image draw() {
    for (std::size_t i = 0; i < solids_.size(); ++i)
      if (solids_[i].is_plane())
        draw_floor(solids_[i]);
    for (std::size_t i = 0; i < solids_.size(); ++i)
      if (!solids_[i].is_plane())
        draw_solid(solids_[i], colors_[i]);
    return image();
  }

private:
  static Vector target(const Simulation& simulation, const View& view) {
    const auto* mass = simulation.data().subtree_com; // Of all bodies.
    return {view.follows ? mass[0] : 0, view.follows ? mass[1] : 0, view.height};
  }

  Sample& sample(int x, int y) {
    return samples_[static_cast<std::size_t>(y) * width * fine +
                    static_cast<std::size_t>(x)];
  }

  bool in_shadow(Vector place) const {
    const Ray ray{place, to_light};
    return std::ranges::any_of(solids_, [&](const Solid& solid) {
      Hit hit;
      return !solid.is_plane() && solid.may_meet(ray) && solid.meet(ray, hit);
    });
  }

  void draw_floor(const Solid& floor) {
    const double tile = distance_ < 2 ? 0.1 : 0.5;
    for (int y = 0; y < height * fine; ++y)
      for (int x = 0; x < width * fine; ++x) {
        const Ray ray = camera_.ray(x + 0.5, y + 0.5);
        Hit hit;
        auto& at = sample(x, y);
        if (!floor.meet(ray, hit) || hit.distance >= at.depth)
          continue;
        const Vector place = ray.from + hit.distance * ray.along;
        const bool dark = (std::llround(std::floor(place.x / tile)) +
                           std::llround(std::floor(place.y / tile))) %
                            2 !=
                          0;
        const double fade = stepped(hit.distance / distance_ / 3 - 0.25, 8);
        const double light = fade < 1 && in_shadow(place) ? shadow : 1;
        at = {hit.distance, mixed(light * (dark ? dark_tile : light_tile), paper, fade)};
      }
  }

  void draw_solid(const Solid& solid, Vector color) {
    const auto window = camera_.window(solid.center(), solid.bound());
    for (int y = window.top; y < window.bottom; ++y)
      for (int x = window.left; x < window.right; ++x) {
        const Ray ray = camera_.ray(x + 0.5, y + 0.5);
        Hit hit;
        auto& at = sample(x, y);
        if (!solid.meet(ray, hit) || hit.distance >= at.depth)
          continue;
        const double sun = std::max(0.0, dot(hit.normal, to_light));
        const double front = std::max(0.0, -dot(hit.normal, ray.along));
        at = {hit.distance, shaded(color, stepped(0.65 * sun + 0.35 * front, shades))};
      }
  }

  /// Tones between a color and what may be behind it, for the edges.
  std::vector<Vector> edge_tones() const {
    std::vector<Vector> tones;
    std::vector<Vector> colors = colors_;
    for (const auto& color : colors)
      for (const double brightness : {0.3, 0.6, 0.9})
        for (const auto& behind : {paper, dark_tile})
          for (const double part : {0.25, 0.5, 0.75})
            tones.push_back(mixed(shaded(color, brightness), behind, part));
    for (int step = 0; step <= shades; ++step)
      for (const auto& color : colors)
        tones.push_back(shaded(color, step / double(shades)));
    for (const auto& tile : {light_tile, dark_tile, shadow * dark_tile, paper})
      tones.push_back(tile);
    return tones;
  }

  Image image() {
    Image image{width, height, {}};
    image.rgb.reserve(std::size_t{3} * width * height);
    const auto tones = edge_tones();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const Vector color = pixel(x * fine, y * fine, tones);
        for (const double part : {color.x, color.y, color.z})
          image.rgb.push_back(static_cast<std::uint8_t>(std::clamp(part, 0.0, 255.0)));
      }
    return image;
  }

  Vector pixel(int left, int top, const std::vector<Vector>& tones) {
    Vector sum;
    double apart = 0;
    const Vector first = sample(left, top).color;
    for (int y = top; y < top + fine; ++y)
      for (int x = left; x < left + fine; ++x) {
        const Vector color = sample(x, y).color;
        sum = sum + color;
        apart = std::max(apart, dot(color - first, color - first));
      }
    if (apart < 1)
      return first;
    const Vector mean = 1.0 / (fine * fine) * sum;
    return *std::ranges::min_element(
      tones, {}, [&](Vector tone) { return dot(tone - mean, tone - mean); });
  }

  const mjModel& model_;
  Camera camera_;
  double distance_;
  std::vector<Solid> solids_;
  std::vector<Vector> colors_;
  std::vector<Sample> samples_;
};

} // namespace drawing
} // namespace

View view_of(const Simulation& simulation) {
  const auto& model = simulation.model();
  const auto* center = simulation.data().subtree_com;
  double reach = 0;
  for (std::ptrdiff_t geom = 0; geom < model.ngeom; ++geom) {
    const auto* at = simulation.data().geom_xpos + 3 * geom;
    if (model.geom_type[geom] != mjGEOM_PLANE && model.geom_bodyid[geom] != 0)
      reach = std::max(
        reach, std::hypot(at[0] - center[0], at[1] - center[1], at[2] - center[2]) +
                 model.geom_rbound[geom]);
  }
  return {.height = center[2], .distance = std::max(4 * reach, 1e-3), .up = 15};
}

Image picture(const Simulation& simulation, const View& view) {
  return drawing::Scene(simulation, view).draw();
}

} // namespace fiber::rl::mujoco
