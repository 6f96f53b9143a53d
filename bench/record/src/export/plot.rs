//! Draws line charts as inline SVG: two axes, a grid, and series. The page's style sheet sets
//! colours and fonts by class, so one drawing fits light and dark pages.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear,
    Logarithmic,
}

/// An axis: a range of values with its marks. The ends of the range are never equal, so their
/// distance can be a divisor.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: &'static str,
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
    pub ticks: Vec<(f64, String)>,
}

/// A line of a chart. A `None` among the points interrupts the line.
pub struct Series {
    pub name: &'static str,
    /// The CSS class with the line's colour.
    pub class: &'static str,
    pub points: Vec<Option<(f64, f64)>>,
    /// Whether to fill the area under the line.
    pub filled: bool,
}

pub struct Chart {
    /// The text that screen readers read instead of the drawing.
    pub description: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// The least room for the marks beside the vertical axis.
const LEFT: f64 = 62.0;
/// The width of a digit in a mark, and the room around a mark.
const DIGIT: f64 = 7.0;
const AROUND_MARK: f64 = 14.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 40.0;
/// Half the width of the widest mark.
const MARK_HALF: f64 = 22.0;

impl Axis {
    /// Returns an axis from zero to a round number at or above `most`.
    pub fn linear(label: &'static str, most: f64, mark: fn(f64) -> String) -> Axis {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let count = (most / step - 1e-9).ceil().max(1.0);
        Axis {
            label,
            scale: Scale::Linear,
            from: 0.0,
            to: count * step,
            ticks: (0..=count as u32)
                .map(|i| f64::from(i) * step)
                .map(|at| (at, mark(at)))
                .collect(),
        }
    }

    /// Returns an axis from zero to exactly `most`, for time.
    pub fn linear_to(label: &'static str, most: f64, mark: fn(f64) -> String) -> Axis {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 8.0);
        let mut axis = Axis::linear(label, most, mark);
        axis.to = most;
        axis.ticks = (0..=8)
            .map(|i| f64::from(i) * step)
            .map(|at| (at, mark(at)))
            .collect();
        axis.ticks.retain(|(at, _)| *at <= axis.to * 1.000_001);
        axis
    }

    /// Returns a logarithmic axis with a mark at each power of ten. An axis of at most two decades
    /// also has marks at 2 and 5 times the powers of ten.
    pub fn logarithmic(
        label: &'static str,
        least: f64,
        most: f64,
        mark: fn(f64) -> String,
    ) -> Axis {
        let least = if least > 0.0 { least } else { 1.0 };
        let most = most.max(least * 1.1);
        let first = least.log10().floor() as i32;
        let last = most.log10().ceil() as i32;
        let steps: &[f64] = if most / least <= 100.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let marks: Vec<f64> = (first..=last)
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .collect();
        let from = marks
            .iter()
            .copied()
            .filter(|at| *at <= least)
            .fold(10f64.powi(first), f64::max);
        let to = marks
            .iter()
            .copied()
            .filter(|at| *at >= most)
            .fold(10f64.powi(last), f64::min);
        Axis {
            label,
            scale: Scale::Logarithmic,
            from,
            to,
            ticks: marks
                .into_iter()
                .filter(|at| (from..=to).contains(at))
                .map(|at| (at, mark(at)))
                .collect(),
        }
    }

    /// Returns the place of a value on the axis, from 0 (one end) to 1 (other end). A value outside
    /// the range gets the nearer end.
    fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Logarithmic => {
                (value.max(self.from).ln() - self.from.ln()) / (self.to.ln() - self.from.ln())
            }
        };
        place.clamp(0.0, 1.0)
    }
}

/// Returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * decade)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * decade)
}

impl Chart {
    /// Returns the drawing with the given size in SVG units. By `class` the style sheet shows the
    /// wide or the narrow drawing.
    pub fn svg(&self, class: &str, width: f64, height: f64) -> String {
        let mut svg = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escaped(&self.description)
        );
        let left = self.left();
        let x_at = |value: f64| left + self.x.place(value) * (width - left - RIGHT);
        let y_at = |value: f64| height - BOTTOM - self.y.place(value) * (height - TOP - BOTTOM);
        self.draw_axes(&mut svg, width, height, &x_at, &y_at);
        for series in &self.series {
            series.draw(&mut svg, height - BOTTOM, &x_at, &y_at);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Returns the room that the marks beside the vertical axis need.
    fn left(&self) -> f64 {
        let marks = self.y.ticks.iter().map(|(_, mark)| mark.chars().count());
        let longest = marks.max().unwrap_or(0) as f64;
        LEFT.max(longest * DIGIT + AROUND_MARK)
    }

    fn draw_axes(
        &self,
        svg: &mut String,
        width: f64,
        height: f64,
        x_at: &dyn Fn(f64) -> f64,
        y_at: &dyn Fn(f64) -> f64,
    ) {
        let (left, bottom) = (self.left(), height - BOTTOM);
        for (value, mark) in &self.y.ticks {
            let y = y_at(*value);
            line(svg, "grid", (left, y), (width - RIGHT, y));
            text(svg, "end", (left - 8.0, y + 4.0), mark);
        }
        let room = ((width - left - RIGHT) / 58.0).max(2.0) as usize;
        let every = self.x.ticks.len().div_ceil(room).max(1);
        for (value, mark) in self.x.ticks.iter().step_by(every) {
            let x = x_at(*value);
            line(svg, "tick", (x, bottom), (x, bottom + 4.0));
            // A wide mark at the right end would be cut off.
            let (anchor, x) = if x + MARK_HALF > width {
                ("end", width - 2.0)
            } else {
                ("middle", x)
            };
            text(svg, anchor, (x, bottom + 17.0), mark);
        }
        line(svg, "axis", (left, bottom), (width - RIGHT, bottom));
        text(svg, "start", (6.0, 12.0), self.y.label);
        text(svg, "end", (width - RIGHT, height - 5.0), self.x.label);
    }
}

impl Series {
    fn draw(
        &self,
        svg: &mut String,
        bottom: f64,
        x_at: &dyn Fn(f64) -> f64,
        y_at: &dyn Fn(f64) -> f64,
    ) {
        for stretch in self.points.split(Option::is_none) {
            let places: Vec<(f64, f64)> = stretch
                .iter()
                .flatten()
                .map(|(x, y)| (x_at(*x), y_at(*y)))
                .collect();
            let (Some(first), Some(last)) = (places.first(), places.last()) else {
                continue;
            };
            if places.len() == 1 {
                // A single value between two gaps would be an invisible line without length.
                let _ = writeln!(
                    svg,
                    "<circle class=\"dot {}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>",
                    self.class, first.0, first.1
                );
                continue;
            }
            let path: Vec<String> = places
                .iter()
                .map(|(x, y)| format!("{x:.1} {y:.1}"))
                .collect();
            let path = path.join(" L");
            if self.filled {
                let _ = writeln!(
                    svg,
                    "<path class=\"area {}\" d=\"M{:.1} {bottom:.1} L{path} L{:.1} {bottom:.1} Z\"/>",
                    self.class, first.0, last.0
                );
            }
            let _ = writeln!(svg, "<path class=\"line {}\" d=\"M{path}\"/>", self.class);
        }
    }
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(svg: &mut String, anchor: &str, at: (f64, f64), text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        at.0,
        at.1,
        escaped(text)
    );
}

/// Escapes text for HTML and quoted attributes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
