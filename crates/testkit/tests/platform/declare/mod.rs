//! `gpuaas apply`, `diff` and `delete` as programs against a running server.

mod applying;
mod interrupted;
mod stand;
mod wrong;
