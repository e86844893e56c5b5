//! From columns to contract types. A value that does not fit is a fault of the
//! database's content, told as a decoding error.

use std::str::FromStr;

use contract::{Open, Word};

pub fn text<T: FromStr>(text: &str) -> sqlx::Result<T> {
    text.parse().map_err(|_| unfit(text))
}

pub fn word<W: Word>(text: &str) -> sqlx::Result<Open<W>> {
    known(text).map(Open::Known)
}

pub fn known<W: Word>(text: &str) -> sqlx::Result<W> {
    W::parse(text).ok_or_else(|| unfit(text))
}

fn unfit(text: &str) -> sqlx::Error {
    sqlx::Error::Decode(
        format!("a column contains a value of {} characters that the contract does not know", text.len()).into(),
    )
}
