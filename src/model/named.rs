//! Enumerations whose words are contracts: of flags, of JSON, of help.

/// An enumeration with one word for each variant, written once: `ALL`, `name`
/// and `Display`. Help, completions, schemas and documentation list `ALL`.
macro_rules! named {
    ($(#[$about:meta])* pub enum $type:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl $type {
            /// All, in the order in which they are listed.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// The word in flags and output.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
