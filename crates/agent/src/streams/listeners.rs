//! Who listens on a port, as the kernel's tables tell it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

const LISTENING: &str = "0A";

/// A socket that accepts connections, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it can be reached from the same host.
    pub address: SocketAddr,
    pub uid: u32,
}

/// Every listener on a port, by the tables below a process's folder in `/proc`.
pub fn on_port(process: &Path, port: u16) -> Vec<Listener> {
    let read = |name: &str| std::fs::read_to_string(process.join("net").join(name)).unwrap_or_default();
    let (four, six) = (read("tcp"), read("tcp6"));
    let all = four.lines().chain(six.lines()).filter_map(parse);
    all.filter(|listener| listener.address.port() == port).collect()
}

fn parse(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != LISTENING {
        return None;
    }
    let (address, port) = fields.get(1)?.split_once(':')?;
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(address)?)),
        32 => {
            let mut octets = [0; 16];
            for (at, part) in octets.chunks_mut(4).enumerate() {
                part.copy_from_slice(&word(address.get(at * 8..at * 8 + 8)?)?);
            }
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    let reachable = match address {
        IpAddr::V4(any) if any.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(any) if any.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        other => other,
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(Listener { address: SocketAddr::new(reachable, port), uid: fields.get(7)?.parse().ok()? })
}

/// Four bytes as the kernel prints them: a number in the machine's own order.
fn word(text: &str) -> Option<[u8; 4]> {
    Some(u32::from_str_radix(text, 16).ok()?.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1005        0 1 1 0";
        let four = parse(line).unwrap();
        assert_eq!((four.address.port(), four.uid), (8080, 1005));
        if cfg!(target_endian = "little") {
            assert_eq!(four.address.to_string(), "127.0.0.1:8080");
        }
        let six = line.replace("0100007F", &"0".repeat(32));
        assert_eq!(parse(&six).unwrap().address.to_string(), "[::1]:8080");
        assert_eq!(parse(&line.replace(" 0A ", " 01 ")), None, "a connection is no listener");
        assert_eq!(parse("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn a_socket_of_this_process_is_found() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let found = on_port(Path::new("/proc/self"), address.port());
        assert_eq!(found, [Listener { address, uid: nix::unistd::geteuid().as_raw() }]);
    }
}
