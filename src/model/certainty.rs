//! How a cluster, a tree or a version is known.

/// How certain something is that the repository need not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// A mere possibility.
    Guessed,
    /// It follows from strong signs.
    Assumed,
    /// The repository or the configuration says it.
    Stated,
}

impl Certainty {
    /// The word in output.
    pub fn name(self) -> &'static str {
        match self {
            Certainty::Guessed => "guessed",
            Certainty::Assumed => "assumed",
            Certainty::Stated => "stated",
        }
    }
}
