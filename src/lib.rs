//! forebay reads a GitOps repository of Flux and Cluster API manifests, with no
//! cluster and no network, and tells what the controllers will do with it.
//!
//! Data flows one way. [`files`] reads bytes; [`lang`] makes trees of them;
//! [`build`] and [`world`] make the effective objects of every cluster;
//! [`lint`], the simulators in [`simulate`], and [`plan`] read those;
//! [`report`] prints; [`rewrite`] turns edits into bytes. A room knows only the
//! rooms above it in the list below.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the rooms are private; their pages are for those who work in them"
)]

mod lang;

mod model;

mod files;

mod config;

mod schema;

mod build;

mod sources;

mod world;

mod lint;
mod simulate;

mod plan;

mod rewrite;

mod report;

mod lsp;

mod mcp;

mod cli;

pub use cli::main;

#[doc(hidden)]
pub mod internals;
