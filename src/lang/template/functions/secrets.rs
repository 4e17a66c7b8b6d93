//! Sprig's functions of chance and keys. What chance would give is unknown; a stand-in
//! of the right shape is used, the same on every run.

use super::sprig;
use crate::lang::template::error::{Result, fail};
use crate::lang::template::function::{Call, Flow, Function, Purity, Ty};
use crate::lang::template::rope::Text;
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Kind, Struct, Val};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::rc::Rc;

const I: &[Ty] = &[Ty::Int];
const S: &[Ty] = &[Ty::Str];
const SS: &[Ty] = &[Ty::Str, Ty::Str];
const SELF_SIGNED: &[Ty] = &[Ty::Str, Ty::Any, Ty::Any, Ty::Int];

const fn chance(function: Function) -> Function {
    Function { purity: Purity::Unknown, ..function }
}

pub(super) const TABLE: &[Function] = &[
    chance(sprig("randAlphaNum", I, Flow::Unites, rand_alpha_num)),
    chance(sprig("randAlpha", I, Flow::Unites, rand_alpha)),
    chance(sprig("randAscii", I, Flow::Unites, rand_ascii)),
    chance(sprig("randNumeric", I, Flow::Unites, rand_numeric)),
    chance(sprig("randBytes", I, Flow::Unites, rand_bytes)),
    chance(sprig("randInt", &[Ty::Int, Ty::Int], Flow::Unites, rand_int)),
    chance(sprig("shuffle", S, Flow::Unites, shuffle)),
    chance(sprig("uuidv4", &[], Flow::Unites, uuidv4)),
    chance(sprig("bcrypt", S, Flow::Unites, bcrypt)),
    chance(sprig("htpasswd", SS, Flow::Unites, htpasswd)),
    chance(sprig("encryptAES", SS, Flow::Unites, encrypt_aes)),
    sprig("decryptAES", SS, Flow::Unites, decrypt_aes),
    chance(sprig("genPrivateKey", S, Flow::Unites, gen_private_key)),
    chance(sprig("genCA", &[Ty::Str, Ty::Int], Flow::Unites, gen_ca)),
    chance(sprig("genCAWithKey", &[Ty::Str, Ty::Int, Ty::Str], Flow::Unites, gen_ca_with_key)),
    chance(sprig("genSelfSignedCert", SELF_SIGNED, Flow::Unites, gen_cert)),
    chance(sprig(
        "genSelfSignedCertWithKey",
        &[Ty::Str, Ty::Any, Ty::Any, Ty::Int, Ty::Str],
        Flow::Unites,
        gen_cert_with_key,
    )),
    chance(sprig(
        "genSignedCert",
        &[Ty::Str, Ty::Any, Ty::Any, Ty::Int, Ty::Certificate],
        Flow::Unites,
        gen_cert,
    )),
    chance(sprig(
        "genSignedCertWithKey",
        &[Ty::Str, Ty::Any, Ty::Any, Ty::Int, Ty::Certificate, Ty::Str],
        Flow::Unites,
        gen_cert_with_key,
    )),
    sprig("derivePassword", &[Ty::Uint32, Ty::Str, Ty::Str, Ty::Str, Ty::Str], Flow::Unites, derive_password),
    sprig("buildCustomCert", SS, Flow::Unites, build_custom_cert),
];

/// A stand-in that says that it is one.
fn unknown(call: &mut Call<'_>, text: String, why: &str) -> Result<Val> {
    let set = call.cx.trace.unknown(why.to_owned());
    Ok(call.made(text)?.with(set))
}

/// Characters in turn, not the same for two calls of one run.
fn characters(call: &mut Call<'_>, from: &str) -> Result<Val> {
    let count = usize::try_from(call.int(0)).unwrap_or(0);
    call.cx.text(count)?;
    call.cx.made_up += 1;
    let set: Vec<char> = from.chars().collect();
    let mut state = call.cx.made_up.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text: String = (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            set[(state >> 33) as usize % set.len()]
        })
        .collect();
    unknown(call, text, "what chance gives")
}

const ALPHA: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn rand_alpha_num(call: &mut Call<'_>) -> Result<Val> {
    characters(call, &format!("{ALPHA}0123456789"))
}

fn rand_alpha(call: &mut Call<'_>) -> Result<Val> {
    characters(call, ALPHA)
}

fn rand_ascii(call: &mut Call<'_>) -> Result<Val> {
    characters(call, &format!("{ALPHA}0123456789!#%()*+,-./:;=?@[]^_~"))
}

fn rand_numeric(call: &mut Call<'_>) -> Result<Val> {
    characters(call, "0123456789")
}

fn rand_bytes(call: &mut Call<'_>) -> Result<Val> {
    let count = call.int(0);
    if count < 0 {
        return fail("runtime error: makeslice: len out of range");
    }
    call.cx.text(count as usize)?;
    let text = STANDARD.encode(vec![0x5a; count as usize]);
    unknown(call, text, "what chance gives")
}

fn rand_int(call: &mut Call<'_>) -> Result<Val> {
    let (low, high) = (call.int(0), call.int(1));
    if high.wrapping_sub(low) <= 0 {
        return fail("invalid argument to Intn");
    }
    let set = call.cx.trace.unknown("what chance gives".to_owned());
    Ok(Val::int(low, set))
}

fn shuffle(call: &mut Call<'_>) -> Result<Val> {
    let text: String = call.string(0).chars().rev().collect();
    unknown(call, text, "what chance gives")
}

fn uuidv4(call: &mut Call<'_>) -> Result<Val> {
    call.cx.made_up += 1;
    let text = format!("00000000-0000-4000-8000-{:012x}", call.cx.made_up);
    unknown(call, text, "what chance gives")
}

/// The shape of a bcrypt hash.
fn hash() -> String {
    format!("$2a$10${}", "StandInForAHashOfBcryptMadeByForebayStandInForAHashOf")
}

fn bcrypt(call: &mut Call<'_>) -> Result<Val> {
    if call.bytes(0).len() > 72 {
        return call.made("failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes");
    }
    unknown(call, hash(), "a salt of chance")
}

fn htpasswd(call: &mut Call<'_>) -> Result<Val> {
    let user = call.string(0);
    if user.contains(':') {
        return call.made(format!("invalid username: {user}"));
    }
    if call.bytes(1).len() > 72 {
        let message = "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes";
        return call.made(format!("{user}:{message}"));
    }
    unknown(call, format!("{user}:{}", hash()), "a salt of chance")
}

/// Marks a stand-in of an encrypted text, so that it can be read back.
const SEALED: &[u8] = b"forebay:";

fn encrypt_aes(call: &mut Call<'_>) -> Result<Val> {
    let mut sealed = SEALED.to_vec();
    sealed.extend_from_slice(call.bytes(1));
    let text = STANDARD.encode(sealed);
    unknown(call, text, "an initialisation vector of chance")
}

fn decrypt_aes(call: &mut Call<'_>) -> Result<Val> {
    let text = call.bytes(1).to_vec();
    let sealed = match super::misc::decode_base64(&text) {
        Ok(sealed) => sealed,
        Err(message) => return fail(message),
    };
    if let Some(plain) = sealed.strip_prefix(SEALED) {
        return call.made(plain.to_vec());
    }
    if sealed.len() < 16 {
        return fail(
            "runtime error: slice bounds out of range [:16] with capacity ".to_owned()
                + &sealed.len().to_string(),
        );
    }
    // The text is as secret as what it hides: it is not opened here.
    unknown(call, String::new(), "an encrypted text")
}

/// PEM of the right kind and about the right size.
fn pem(kind: &str, lines: usize) -> String {
    let line = STANDARD.encode("forebay knows no key: a stand-in of 48 bytes....");
    let body = format!("{line}\n").repeat(lines);
    format!("-----BEGIN {kind}-----\n{body}-----END {kind}-----\n")
}

fn gen_private_key(call: &mut Call<'_>) -> Result<Val> {
    let kind = call.string(0);
    let text = match &*kind {
        "" | "rsa" => pem("RSA PRIVATE KEY", 49),
        "dsa" => pem("DSA PRIVATE KEY", 13),
        "ecdsa" => pem("EC PRIVATE KEY", 3),
        "ed25519" => pem("PRIVATE KEY", 1),
        _ => return call.made(format!("Unknown type {kind}")),
    };
    unknown(call, text, "a generated key")
}

/// A certificate and a key that are stand-ins.
fn certificate(call: &mut Call<'_>, key: Option<String>) -> Result<Val> {
    let set = call.cx.trace.unknown("a generated certificate".to_owned());
    let prov = call.cx.trace.plain(set);
    let text = |text: String| Val::text(Text::new(text.into_bytes(), prov));
    let key = match key {
        Some(key) => Val::text(Text::new(key.into_bytes(), Default::default())),
        None => text(pem("RSA PRIVATE KEY", 25)),
    };
    Ok(built(text(pem("CERTIFICATE", 17)), key).with(set))
}

fn built(cert: Val, key: Val) -> Val {
    let of = Struct {
        type_name: "sprig.certificate".into(),
        fields: vec![("Cert".into(), cert), ("Key".into(), key)],
        methods: Vec::new(),
        shown: None,
    };
    Val::new(Kind::Struct(Rc::new(of)), SetId::NONE)
}

fn gen_ca(call: &mut Call<'_>) -> Result<Val> {
    certificate(call, None)
}

/// What Go says of a key that is none.
fn check_key(key: &str) -> Result<()> {
    if key.contains("-----BEGIN ") {
        return Ok(());
    }
    fail("parsing private key: no PEM data in input")
}

fn gen_ca_with_key(call: &mut Call<'_>) -> Result<Val> {
    let key = call.string(2);
    check_key(&key)?;
    certificate(call, Some(key))
}

/// Addresses and names of a certificate have to be lists of texts.
fn check_names(call: &Call<'_>) -> Result<()> {
    for (index, what) in [(1, "ip"), (2, "alternate DNS name")] {
        let val = &call.args[index];
        if val.is_nil() {
            continue;
        }
        let Kind::List(list) = &val.kind else {
            let plural = if index == 1 { "ips" } else { "alternate DNS names" };
            return fail(format!("error parsing {plural}: {}", crate::lang::template::print::shown(val)));
        };
        for item in list.iter() {
            let Kind::Str(text) = &item.kind else {
                let shown = crate::lang::template::print::shown(&item);
                return fail(format!("error parsing {what}: {shown}"));
            };
            if index == 1 && text.str().parse::<std::net::IpAddr>().is_err() {
                return fail(format!("error parsing {what}: {}", text.str()));
            }
        }
    }
    Ok(())
}

fn gen_cert(call: &mut Call<'_>) -> Result<Val> {
    check_names(call)?;
    certificate(call, None)
}

fn gen_cert_with_key(call: &mut Call<'_>) -> Result<Val> {
    let key = call.string(call.args.len() - 1);
    check_key(&key)?;
    check_names(call)?;
    certificate(call, Some(key))
}

fn build_custom_cert(call: &mut Call<'_>) -> Result<Val> {
    let Ok(cert) = super::misc::decode_base64(call.bytes(0)) else {
        return fail("unable to decode base64 certificate");
    };
    let Ok(key) = super::misc::decode_base64(call.bytes(1)) else {
        return fail("unable to decode base64 private key");
    };
    if memchr::memmem::find(&cert, b"-----BEGIN ").is_none() {
        return fail("unable to decode certificate");
    }
    if memchr::memmem::find(&key, b"-----BEGIN ").is_none() {
        return fail("error parsing private key: no PEM data in input");
    }
    let text = |bytes: Vec<u8>| Val::text(Text::new(bytes, Default::default()));
    Ok(built(text(cert), text(key)))
}

const TEMPLATES: &[(&str, &[&str])] = &[
    ("maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        "long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    ("medium", &["CvcnoCvc", "CvcCvcno"]),
    ("short", &["Cvcn"]),
    ("basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    ("pin", &["nnnn"]),
];

fn characters_of(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// The algorithm of Master Password, which gives the same on every run.
fn derive_password(call: &mut Call<'_>) -> Result<Val> {
    const SEED: &[u8] = b"com.lyndir.masterpassword";
    let kind = call.string(1);
    let Some((_, templates)) = TEMPLATES.iter().find(|(name, _)| *name == kind) else {
        return call.made(format!("cannot find password template {kind}"));
    };
    call.cx.step(100_000)?;
    let counter = call.int(0) as u32;
    let (user, site) = (call.bytes(3), call.bytes(4));
    let salt = [SEED, &(user.len() as u32).to_be_bytes(), user].concat();
    let mut key = [0u8; 64];
    let derived = scrypt::Params::new(15, 8, 2)
        .map_err(drop)
        .and_then(|params| scrypt::scrypt(call.bytes(2), &salt, &params, &mut key).map_err(drop));
    let Ok(()) = derived else {
        return call.made("failed to derive password: no key");
    };
    let message = [SEED, &(site.len() as u32).to_be_bytes(), site, &counter.to_be_bytes()].concat();
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else {
        return call.made("failed to derive password: no key");
    };
    mac.update(&message);
    let seed = mac.finalize().into_bytes();
    let template = templates[usize::from(seed[0]) % templates.len()];
    let text: Vec<u8> = template
        .bytes()
        .zip(&seed[1..])
        .map(|(class, byte)| {
            let from = characters_of(class);
            from[usize::from(*byte) % from.len()]
        })
        .collect();
    call.made(text)
}
