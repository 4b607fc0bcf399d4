//! Limits open connections, and chooses which one is closed for a new one.

use axum::body::{Body, Bytes, HttpBody};
use identity::Client;
use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};
use tokio_util::sync::CancellationToken;

/// The connection slots of one listener; cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectionLimiter(Arc<Inner>);

struct Inner {
    most: usize,
    /// The slots that one address may hold by requests in progress, when all slots are taken.
    fair: usize,
    taken: Mutex<(u64, HashMap<u64, OpenConnection>)>,
}

struct OpenConnection {
    by: Client,
    requests: Arc<AtomicU32>,
    leave: CancellationToken,
}

/// The slot of one connection; released when dropped.
pub(crate) struct ConnectionPermit {
    limiter: ConnectionLimiter,
    number: u64,
    requests: Arc<AtomicU32>,
    leave: CancellationToken,
}

/// Marks an authenticated request in progress on a connection, as long as it is held.
pub(crate) struct Served(Arc<AtomicU32>);

/// A request extension that marks the request as in progress once its caller is authenticated.
#[derive(Clone)]
pub(crate) struct RequestTracker(Arc<AtomicU32>);

impl ConnectionLimiter {
    pub fn new(most: usize, fair: usize) -> Self {
        Self(Arc::new(Inner { most, fair, taken: Mutex::default() }))
    }

    /// A slot for a new connection. When none is left, the oldest idle connection of the address with the most slots
    /// is closed, so a crowd of idle connections never locks a person out. An address with more busy connections than
    /// is fair loses the oldest of those last.
    pub fn take(&self, by: Client) -> Option<ConnectionPermit> {
        let mut inner = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.1.len() >= self.0.most {
            let (mut held, mut served): (HashMap<Client, usize>, HashMap<Client, usize>) = Default::default();
            let is_served = |taken: &OpenConnection| taken.requests.load(Ordering::Relaxed) > 0;
            for taken in inner.1.values() {
                *held.entry(taken.by).or_default() += 1;
                *served.entry(taken.by).or_default() += usize::from(is_served(taken));
            }
            let greedy = |taken: &OpenConnection| served[&taken.by] > self.0.fair;
            let leaving = inner.1.iter().filter(|(_, taken)| !is_served(taken) || greedy(taken));
            // Numbers grow with time: the smallest is the oldest.
            let leaves =
                leaving.max_by_key(|(number, taken)| (!is_served(taken), held[&taken.by], std::cmp::Reverse(**number)));
            let leaves = *leaves?.0;
            inner.1.remove(&leaves)?.leave.cancel();
        }
        inner.0 += 1;
        let (number, requests, leave) = (inner.0, Arc::new(AtomicU32::new(0)), CancellationToken::new());
        inner.1.insert(number, OpenConnection { by, requests: requests.clone(), leave: leave.clone() });
        Some(ConnectionPermit { limiter: self.clone(), number, requests, leave })
    }
}

impl ConnectionPermit {
    /// Cancelled when the slot is needed for another connection.
    pub fn leave(&self) -> CancellationToken {
        self.leave.clone()
    }

    pub fn tracker(&self) -> RequestTracker {
        RequestTracker(self.requests.clone())
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limiter.0.taken.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.number);
    }
}

impl RequestTracker {
    /// Marks the request as in progress.
    pub fn serve(&self) -> Served {
        self.0.fetch_add(1, Ordering::Relaxed);
        Served(self.0.clone())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A response body that keeps its request in progress until its end.
pub(crate) struct Serving {
    pub body: Body,
    pub _served: Served,
}

impl HttpBody for Serving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_are_closed_before_busy_ones() {
        let limiter = ConnectionLimiter::new(12, 3);
        let address = |n: u8| Client::from(std::net::IpAddr::from([192, 0, 2, n]));
        let (crowd, person) = (address(1), address(2));
        // A few others with requests in progress.
        let others: Vec<ConnectionPermit> = (10..19).map(|n| limiter.take(address(n)).unwrap()).collect();
        let _others: Vec<Served> = others.iter().map(|permit| permit.tracker().serve()).collect();
        let served = limiter.take(crowd).unwrap();
        let _request = served.tracker().serve();
        let (alone, first) = (limiter.take(person).unwrap(), limiter.take(crowd).unwrap());
        let second = limiter.take(crowd).unwrap();
        assert!(first.leave.is_cancelled(), "of the address with the most places, one that serves nobody");
        assert!(!served.leave.is_cancelled() && !alone.leave.is_cancelled());
        drop(first);
        let third = limiter.take(person).unwrap();
        assert!(second.leave.is_cancelled());
        let _requests = [alone.tracker().serve(), third.tracker().serve()];
        assert!(limiter.take(crowd).is_none(), "everybody is being served");
        drop(alone);
        assert!(limiter.take(crowd).is_some(), "a place was given back");
        assert_eq!(limiter.0.taken.lock().unwrap().1.len(), 11);
    }

    #[test]
    fn busy_connections_of_one_address_are_bounded() {
        let limiter = ConnectionLimiter::new(8, 3);
        let address = |n: u8| Client::from(std::net::IpAddr::from([192, 0, 2, n]));
        let held: Vec<ConnectionPermit> = (0..8).map(|_| limiter.take(address(1)).unwrap()).collect();
        let _served: Vec<Served> = held.iter().map(|permit| permit.tracker().serve()).collect();
        assert!(limiter.take(address(2)).is_some());
        assert!(held[0].leave.is_cancelled() && !held[1].leave.is_cancelled());
    }
}
