//! As much CBOR (RFC 8949) as authenticators speak: definite lengths, no tags,
//! no floats; bounded in depth and in items. Pure.

/// A decoded item, which borrows from what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    Integer(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Item<'a>>),
    /// In the order of the bytes; no key occurs twice.
    Map(Vec<(Item<'a>, Item<'a>)>),
    /// `false`, `true`, `null` and the like.
    Simple(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed CBOR from the authenticator")]
pub struct Malformed;

// bound: an attestation object is three levels deep
const DEEPEST: u8 = 8;
// bound: certificates of an attestation are a handful of items
const MOST_ITEMS: u32 = 256;

/// The first item, and the bytes after it.
pub fn first(bytes: &[u8]) -> Result<(Item<'_>, &[u8]), Malformed> {
    let mut reader = Reader { rest: bytes, items: 0 };
    let item = reader.item(0)?;
    Ok((item, reader.rest))
}

/// The one item that the bytes hold.
pub fn only(bytes: &[u8]) -> Result<Item<'_>, Malformed> {
    match first(bytes)? {
        (item, []) => Ok(item),
        _ => Err(Malformed),
    }
}

impl<'a> Item<'a> {
    pub fn get(&self, key: &Item<'_>) -> Option<&Item<'a>> {
        let Item::Map(entries) = self else { return None };
        entries.iter().find(|(it, _)| it == key).map(|(_, value)| value)
    }

    pub fn bytes(&self) -> Option<&'a [u8]> {
        if let Item::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    pub fn integer(&self) -> Option<i64> {
        if let Item::Integer(number) = self { Some(*number) } else { None }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    items: u32,
}

impl<'a> Reader<'a> {
    fn item(&mut self, depth: u8) -> Result<Item<'a>, Malformed> {
        self.items += 1;
        if depth > DEEPEST || self.items > MOST_ITEMS {
            return Err(Malformed);
        }
        let head = self.take(1)?[0];
        let (major, short) = (head >> 5, head & 0x1f);
        if major == 7 {
            // Simple values alone; what follows 23 is floats and breaks.
            return if short <= 23 { Ok(Item::Simple(short)) } else { Err(Malformed) };
        }
        let argument = match short {
            0..=23 => u64::from(short),
            24 => u64::from(self.take(1)?[0]),
            25 => u64::from(u16::from_be_bytes(self.array()?)),
            26 => u64::from(u32::from_be_bytes(self.array()?)),
            27 => u64::from_be_bytes(self.array()?),
            _ => return Err(Malformed),
        };
        let number = i64::try_from(argument).map_err(|_| Malformed)?;
        let count = usize::try_from(argument).map_err(|_| Malformed)?;
        match major {
            0 => Ok(Item::Integer(number)),
            1 => Ok(Item::Integer(-1 - number)),
            2 => Ok(Item::Bytes(self.take(count)?)),
            3 => Ok(Item::Text(std::str::from_utf8(self.take(count)?).map_err(|_| Malformed)?)),
            4 => (0..self.bounded(count)?).map(|_| self.item(depth + 1)).collect::<Result<_, _>>().map(Item::Array),
            5 => {
                let mut entries: Vec<(Item<'a>, Item<'a>)> = Vec::new();
                for _ in 0..self.bounded(count)? {
                    let key = self.item(depth + 1)?;
                    if entries.iter().any(|(it, _)| *it == key) {
                        return Err(Malformed);
                    }
                    entries.push((key, self.item(depth + 1)?));
                }
                Ok(Item::Map(entries))
            }
            _ => Err(Malformed),
        }
    }

    /// A count that the bytes left could hold.
    fn bounded(&self, count: usize) -> Result<usize, Malformed> {
        if count <= self.rest.len() { Ok(count) } else { Err(Malformed) }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cbor_items_are_read() {
        let bytes = [0xa2, 0x01, 0x26, 0x63, b'f', b'm', b't', 0x82, 0x41, 0x07, 0xf5];
        let item = only(&bytes).unwrap();
        assert_eq!(item.get(&Item::Integer(1)).and_then(Item::integer), Some(-7));
        let list = item.get(&Item::Text("fmt")).unwrap();
        assert_eq!(*list, Item::Array(vec![Item::Bytes(&[7]), Item::Simple(21)]));
        assert_eq!(first(&[0x18, 0x64, 0x00]).unwrap(), (Item::Integer(100), &[0u8][..]));
    }

    #[test]
    fn cbor_that_is_cut_off_nested_repeated_or_endless_is_refused() {
        let deep: Vec<u8> = std::iter::repeat_n(0x81, 40).chain([0x00]).collect();
        let many: Vec<u8> = [0x99, 0x01, 0x2c].into_iter().chain(std::iter::repeat_n(0x00, 300)).collect();
        let cases: [&[u8]; 11] = [
            &[],
            &[0x42, 0x01],
            &[0x5f, 0x41, 0x00, 0xff],
            &[0xbf, 0xff],
            &[0xc0, 0x00],
            &[0xf9, 0x00, 0x00],
            &[0x61, 0xff],
            &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0xa2, 0x01, 0x00, 0x01, 0x00],
            &deep,
            &many,
        ];
        for bytes in cases {
            assert_eq!(only(bytes), Err(Malformed), "{bytes:02x?}");
        }
        assert_eq!(only(&[0x00, 0x00]), Err(Malformed), "one item alone");
    }
}
