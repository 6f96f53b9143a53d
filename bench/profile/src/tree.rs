//! Makes the call tree of a profile. Each node is a sub with one chain of callers, and holds the
//! numbers of observations.

use crate::profile::{FrameKind, FrameLabel, Profile};
use std::collections::BTreeMap;

/// A sub with one chain of callers. The root has no name.
#[derive(Debug, Clone)]
pub struct CallNode {
    pub name: String,
    pub kind: FrameKind,
    /// The number of observations on a core, in this sub and its callees.
    pub cpu: u64,
    /// The number of all observations, in this sub and its callees.
    pub wall: u64,
    /// The number of observations for each line of this sub that ran or called a callee.
    pub lines: BTreeMap<(String, u32), u64>,
    /// The callees, ordered by `wall` with the largest first.
    pub callees: Vec<CallNode>,
}

impl CallNode {
    fn new(name: &str, kind: FrameKind) -> CallNode {
        CallNode {
            name: name.to_owned(),
            kind,
            cpu: 0,
            wall: 0,
            lines: BTreeMap::new(),
            callees: Vec::new(),
        }
    }

    /// Makes the tree of all processes together.
    pub fn of(profile: &Profile) -> CallNode {
        let mut root = CallNode::new("", FrameKind::Perl);
        for (stack, (cpu, wall)) in profile.weights() {
            let frames = profile.stacks[stack as usize].iter();
            let frames: Vec<&FrameLabel> = frames
                .map(|&frame| &profile.frames[frame as usize])
                .collect();
            root.add(&frames, cpu, wall);
        }
        root.sort();
        root
    }

    fn add(&mut self, frames: &[&FrameLabel], cpu: u64, wall: u64) {
        let mut node = self;
        node.cpu += cpu;
        node.wall += wall;
        for frame in frames {
            let known = node
                .callees
                .iter()
                .position(|it| it.name == frame.name && it.kind == frame.kind);
            let at = known.unwrap_or_else(|| {
                node.callees.push(CallNode::new(&frame.name, frame.kind));
                node.callees.len() - 1
            });
            node = &mut node.callees[at];
            node.cpu += cpu;
            node.wall += wall;
            if frame.line > 0 {
                *node
                    .lines
                    .entry((frame.file.clone(), frame.line))
                    .or_default() += wall;
            }
        }
    }

    fn sort(&mut self) {
        self.callees.sort_by(|one, other| {
            other
                .wall
                .cmp(&one.wall)
                .then_with(|| one.name.cmp(&other.name))
        });
        for callee in &mut self.callees {
            callee.sort();
        }
    }
}
