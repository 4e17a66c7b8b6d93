//! Where charts are looked for: the flags, the configuration, the root, and the caches of
//! the user, in this order.

use super::Failure;
use super::common::Common;
use crate::config::Config;
use crate::files::{Allowed, ChartStore, ChartStores, RenderCache, StoreLayout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The store of a root.
pub(crate) const ROOT_STORE: &str = ".forebay/charts";

/// The stores that the flags and the configuration mean.
///
/// # Errors
/// A directory of `--charts` that is none.
pub(crate) fn stores(common: &Common, config: &Config, root: &Path) -> Result<ChartStores, Failure> {
    if common.no_charts {
        return Ok(ChartStores::off());
    }
    let mut stores: Vec<ChartStore> = Vec::new();
    for directory in &common.charts {
        let real = directory.canonicalize().ok().filter(|real| real.is_dir());
        let missing = || Failure::Usage(format!("--charts {}: no such directory", directory.display()));
        let name = directory.to_string_lossy();
        add(&mut stores, name.trim_end_matches('/'), Ok(real.ok_or_else(missing)?), StoreLayout::Charts);
    }
    for written in &config.charts {
        let path = config.allowed.directory(root, &written.value);
        add(&mut stores, &written.value, path.map_err(|error| error.to_string()), StoreLayout::Charts);
    }
    // Whatever the tree says, its own store lies in it.
    if let Ok(own) = Allowed::default().directory(root, ROOT_STORE) {
        add(&mut stores, ROOT_STORE, Ok(own), StoreLayout::Charts);
    }
    if !common.no_user_stores {
        for (name, path, layout) in of_user() {
            if path.is_dir() {
                add(&mut stores, name, Ok(path), layout);
            }
        }
    }
    Ok(ChartStores::new(stores))
}

fn add(stores: &mut Vec<ChartStore>, name: &str, path: Result<PathBuf, String>, layout: StoreLayout) {
    let is_known = path.is_ok() && stores.iter().any(|store| store.path == path);
    if !is_known {
        stores.push(ChartStore { name: Arc::from(name), path, layout });
    }
}

/// Where programs of the user keep what they can make again.
fn caches() -> Option<PathBuf> {
    let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
    variable("XDG_CACHE_HOME").or_else(|| {
        Some(match std::env::consts::OS {
            "macos" => home()?.join("Library/Caches"),
            "windows" => variable("TEMP")?,
            _ => home()?.join(".cache"),
        })
    })
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where runs keep what charts make of releases; `None` where the user has no caches, where
/// they lie in the root, whose files are not the user's, or where nobody can say which program
/// this is: one that was built anew may say other things.
pub(crate) fn render_cache(root: &Path) -> Option<RenderCache> {
    let caches = caches()?.canonicalize().ok().filter(|caches| !caches.starts_with(root))?;
    let own = std::env::current_exe().ok()?.metadata().ok()?;
    let built = own.modified().ok()?.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?;
    let program = format!("{} {} {}", env!("CARGO_PKG_VERSION"), own.len(), built.as_nanos());
    RenderCache::below(&caches, &program)
}

/// The caches of the user: forebay's own, then Helm's.
fn of_user() -> Vec<(&'static str, PathBuf, StoreLayout)> {
    let caches = caches();
    let mut found = Vec::new();
    if let Some(caches) = &caches {
        found.push(("forebay's cache", caches.join("forebay/charts"), StoreLayout::Charts));
    }
    if let Some(helm) = variable("HELM_CACHE_HOME").or_else(|| Some(caches?.join("helm"))) {
        let repository = variable("HELM_REPOSITORY_CACHE").unwrap_or_else(|| helm.join("repository"));
        found.push(("Helm's cache", repository, StoreLayout::Charts));
        found.push(("Helm's cache", helm.join("content"), StoreLayout::Content));
    }
    found
}
