//! forebay reads a GitOps repository of Flux and Cluster API manifests, with no
//! cluster and no network, and tells what the controllers will do with it.
//!
//! Data flows one way. [`repo`] reads bytes; [`yaml`] makes trees of them;
//! [`kustomize`] and [`world`] build the effective objects of every cluster;
//! [`lint`], the simulators in [`simulate`], and [`plan`] read those;
//! [`report`] prints; [`rewrite`] turns edits into bytes. A room knows only the
//! rooms above it in the list below.

pub mod go;

pub mod text;

pub mod yaml;

pub mod model;

pub mod repo;

pub mod config;

pub mod schema;

pub mod kustomize;

pub mod world;

pub mod simulate;

pub mod lint;

pub mod plan;

pub mod rewrite;

pub mod report;

pub mod lsp;

pub mod cli;
