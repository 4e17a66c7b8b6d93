//! Growing clusters from their entry points: build, take the Flux Kustomizations in the
//! output, build theirs, until nothing changes.
//!
//! A cluster grows in rounds ([`cluster`]). A round ([`walk`]) is a queue of the Flux
//! Kustomizations that are due, in the order of what applies them. The step of each
//! ([`step`]) tells what it waits for: the tree of its source, its variables, and the
//! settings, as far as the round before found them. Only where one of these is another
//! than before is it built again. After the queue come the releases that it found
//! ([`render`]), whose charts may make more that is due. What [`shape`] picks from the
//! objects is what the next round starts from ([`start`]).

mod beside;
mod cluster;
mod grown;
mod names;
mod render;
mod round;
mod sets;
mod shape;
mod start;
mod step;
mod walk;

pub(super) use cluster::{grow, grow_placed};
pub(super) use grown::{Grown, Repository, built_outcome};
pub(super) use names::cluster_names;
pub(super) use shape::{inject, injected_variables};
