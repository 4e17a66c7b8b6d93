//! Which functions a program gives to its templates, as Go's `FuncMap` says it.

use super::{STR, find, sprig};
use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result};
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::value::Val;

/// The functions of a program's templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FuncMap {
    /// Helm's.
    #[default]
    Helm,
    /// Sprig's `HermeticTxtFuncMap`: Cluster API (`renderValueTemplate`) and
    /// image-automation-controller (`templateMsg`).
    Hermetic,
    /// slim-sprig's `HermeticTxtFuncMap` with flux-operator's own (`newTemplate` of
    /// `internal/builder/resourceset.go`).
    ResourceSet,
    /// Sprig's without what asks the system, with those of external-secrets
    /// (`runtime/template/v2/template.go`), which are known by name and not run.
    ExternalSecrets,
}

impl FuncMap {
    /// What finds a function by its name.
    pub(in crate::lang::template) fn finder(self) -> fn(&str) -> Option<&'static Function> {
        match self {
            FuncMap::Helm => find,
            FuncMap::Hermetic => hermetic,
            FuncMap::ResourceSet => resource_set,
            FuncMap::ExternalSecrets => external_secrets,
        }
    }
}

/// Sprig's `nonhermeticFunctions`: they ask a clock, chance, the system or the network.
const NOT_HERMETIC: [&str; 17] = [
    "date",
    "dateInZone",
    "dateModify",
    "date_in_zone",
    "date_modify",
    "env",
    "expandenv",
    "getHostByName",
    "htmlDate",
    "htmlDateInZone",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randNumeric",
    "uuidv4",
];

/// What slim-sprig leaves out of Sprig, because it needs other modules.
const NOT_SLIM: [&str; 39] = [
    "abbrev",
    "abbrevboth",
    "add1f",
    "addf",
    "bcrypt",
    "buildCustomCert",
    "camelcase",
    "decryptAES",
    "deepCopy",
    "derivePassword",
    "divf",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
    "initials",
    "kebabcase",
    "merge",
    "mergeOverwrite",
    "mulf",
    "mustDeepCopy",
    "mustMerge",
    "mustMergeOverwrite",
    "nospace",
    "semver",
    "semverCompare",
    "sha512sum",
    "shuffle",
    "snakecase",
    "subf",
    "swapcase",
    "untitle",
    "wrap",
    "wrapWith",
];

/// Sprig's own where Helm has another of the same name.
static SPRIG: [Function; 2] = [
    sprig("fail", &[Ty::Str], Flow::Nothing, fail),
    sprig("fromJson", STR, Flow::Holds, super::json::sprig_from_json),
];

/// Helm's that are Sprig's too.
const OF_BOTH: [&str; 2] = ["mustToJson", "toJson"];

/// flux-operator's own.
static OPERATOR: [Function; 4] = [
    Function {
        name: "inputs",
        library: Library::Operator,
        params: &[],
        is_variadic: false,
        purity: Purity::Pure,
        flow: Flow::Holds,
        run: FunctionBody::Inputs,
    },
    operator("mustToYaml", &[Ty::Any], Flow::Keeps, super::yaml::operator_must_to_yaml),
    operator("slugify", STR, Flow::Keeps, super::slug::slugify),
    operator("toYaml", &[Ty::Any], Flow::Keeps, super::yaml::operator_to_yaml),
];

/// Those of external-secrets.
static EXTERNAL_SECRETS: [Function; 19] = [
    not_run("certSANs", STR),
    not_run("filterCertChain", &[Ty::Str, Ty::Str]),
    not_run("filterPEM", &[Ty::Str, Ty::Str]),
    not_run("fromYaml", STR),
    not_run("fullPemToPkcs12", &[Ty::Str, Ty::Str]),
    not_run("fullPemToPkcs12Pass", &[Ty::Str, Ty::Str, Ty::Str]),
    not_run("hexdec", STR),
    not_run("jwkPrivateKeyPem", STR),
    not_run("jwkPublicKeyPem", STR),
    not_run("pemToPkcs12", &[Ty::Str, Ty::Str]),
    not_run("pemToPkcs12Pass", &[Ty::Str, Ty::Str, Ty::Str]),
    not_run("pemTruststoreToPKCS12", STR),
    not_run("pemTruststoreToPKCS12Pass", &[Ty::Str, Ty::Str]),
    not_run("pkcs12cert", STR),
    not_run("pkcs12certPass", &[Ty::Str, Ty::Str]),
    not_run("pkcs12key", STR),
    not_run("pkcs12keyPass", &[Ty::Str, Ty::Str]),
    not_run("rsaDecrypt", &[Ty::Str, Ty::Str, Ty::Str, Ty::Str]),
    not_run("toYaml", &[Ty::Any]),
];

const fn not_run(name: &'static str, params: &'static [Ty]) -> Function {
    fn refuse(_: &mut Call<'_>) -> Result<Val> {
        Err(Fault::bound(Bound::Unsupported("a function of external-secrets")))
    }
    sprig(name, params, Flow::Unites, refuse)
}

/// What no table of Helm's has.
pub(super) fn own() -> impl Iterator<Item = &'static Function> {
    SPRIG.iter().chain(&OPERATOR)
}

const fn operator(name: &'static str, params: &'static [Ty], flow: Flow, run: super::Native) -> Function {
    Function { library: Library::Operator, ..sprig(name, params, flow, run) }
}

fn of(table: &'static [Function], name: &str) -> Option<&'static Function> {
    table.iter().find(|function| function.name == name)
}

fn hermetic(name: &str) -> Option<&'static Function> {
    if NOT_HERMETIC.contains(&name) {
        return None;
    }
    of(&SPRIG, name).or_else(|| {
        find(name).filter(|function| function.library != Library::Helm || OF_BOTH.contains(&name))
    })
}

fn resource_set(name: &str) -> Option<&'static Function> {
    if NOT_SLIM.contains(&name) {
        return None;
    }
    of(&OPERATOR, name).or_else(|| hermetic(name))
}

fn external_secrets(name: &str) -> Option<&'static Function> {
    if matches!(name, "env" | "expandenv") {
        return None;
    }
    let sprig = || find(name).filter(|function| function.library != Library::Helm || OF_BOTH.contains(&name));
    of(&EXTERNAL_SECRETS, name).or_else(|| of(&SPRIG, name)).or_else(sprig)
}

fn fail(call: &mut Call<'_>) -> Result<Val> {
    Err(Fault::new(call.string(0)))
}
