//! One public name with several gateways behind it: connections go to whichever
//! it leads to at that moment, as with a load balancer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub struct SharedName {
    pub address: SocketAddr,
    leads_to: Arc<AtomicU16>,
    serving: JoinHandle<()>,
}

impl SharedName {
    pub async fn new() -> SharedName {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let leads_to = Arc::new(AtomicU16::new(0));
        let serving = tokio::spawn(serve(listener, leads_to.clone()));
        SharedName { address, leads_to, serving }
    }

    /// New connections go to this port of this machine.
    pub fn leads_to(&self, port: u16) {
        self.leads_to.store(port, Ordering::SeqCst);
    }
}

impl Drop for SharedName {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, leads_to: Arc<AtomicU16>) {
    while let Ok((mut near, _)) = listener.accept().await {
        let port = leads_to.load(Ordering::SeqCst);
        tokio::spawn(async move {
            let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        });
    }
}
