//! The server away, coming, killed, back (I8 at the store).

use std::time::Duration;

use futures_util::StreamExt;
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{BucketWrite, Store, StoreError, WriteOutcome};

use super::builders::{HOUR, first, key, next, temps, version};
use crate::support::mongod::Mongod;

fn impatient(uri: &str) -> MongoStore {
    let settings = MongoSettings {
        server_selection_timeout: Duration::from_millis(200),
        ..MongoSettings::default()
    };
    MongoStore::connect(uri, settings).unwrap()
}

/// Tries again while the store is away; at most a minute.
async fn until_available(store: &MongoStore, writes: &[BucketWrite]) -> Vec<WriteOutcome> {
    let tries = async {
        loop {
            match store.write(writes).await {
                Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
                outcome => return outcome.unwrap(),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), tries)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_store_starts_without_its_server_and_survives_its_death() {
    let mut server = Mongod::new();
    let store = impatient(&server.uri_of("away"));
    let write = first(key("A", HOUR), 7, &temps(0..10));
    let writes = std::slice::from_ref(&write);
    assert!(matches!(
        store.write(writes).await,
        Err(StoreError::Unavailable { .. })
    ));
    assert!(matches!(
        store.ping().await,
        Err(StoreError::Unavailable { .. })
    ));

    server.start().await;
    let outcomes = until_available(&store, writes).await;
    assert!(matches!(outcomes[..], [WriteOutcome::Stored]));

    server.kill();
    let append = next(key("A", HOUR), version(0, 1, 7), 8, 10..20);
    let appends = std::slice::from_ref(&append);
    assert!(matches!(
        store.write(appends).await,
        Err(StoreError::Unavailable { .. })
    ));

    server.start().await;
    let outcomes = until_available(&store, appends).await;
    assert!(matches!(outcomes[..], [WriteOutcome::Stored]));
    let loaded = store.load(&[key("A", HOUR)]).await.unwrap();
    let bucket = loaded[0].as_ref().unwrap();
    assert_eq!(bucket.version(), version(0, 2, 8));
    assert_eq!(&bucket.parts[0].elements, temps(0..20).elements());
}

#[tokio::test]
async fn calls_at_a_server_that_is_away_share_one_attempt() {
    let server = Mongod::new();
    let store = impatient(&server.uri_of("away"));
    let pings = futures_util::future::join_all((0..100).map(|_| store.ping()));
    // One after the other they would take 20 s and more.
    let answers = tokio::time::timeout(Duration::from_secs(10), pings)
        .await
        .unwrap();
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Err(StoreError::Unavailable { .. })))
    );
}

#[tokio::test]
async fn a_server_that_stands_alone_is_accepted() {
    let mut server = Mongod::standalone();
    server.start().await;
    let store = impatient(&server.uri());
    let writes = [first(key("A", HOUR), 7, &temps(0..10))];
    let outcomes = store.write(&writes).await.unwrap();
    assert!(matches!(outcomes[..], [WriteOutcome::Stored]));
    let newest = store.newest(&[writes[0].key.sensor.clone()]).await.unwrap();
    assert_eq!(newest[0].key, writes[0].key);
    assert_eq!(store.all().collect::<Vec<_>>().await.len(), 1);
}

/// The outcome of the call is unknown; trying again does not double it.
#[tokio::test]
async fn a_server_that_freezes_in_a_write_is_unavailable_and_the_write_goes_in_once() {
    let mut server = Mongod::new();
    server.start().await;
    let settings = MongoSettings {
        server_selection_timeout: Duration::from_millis(200),
        call_timeout: Duration::from_secs(2),
        ..MongoSettings::default()
    };
    let store = MongoStore::connect(&server.uri_of("frozen"), settings).unwrap();
    let create = [first(key("A", HOUR), 7, &temps(0..10))];
    until_available(&store, &create).await;

    server.freeze();
    let append = [next(key("A", HOUR), version(0, 1, 7), 8, 10..20)];
    assert!(matches!(
        store.write(&append).await,
        Err(StoreError::Unavailable { .. })
    ));
    server.thaw();
    // Fenced where the first try went in after all.
    let outcomes = until_available(&store, &append).await;
    assert!(matches!(
        outcomes[..],
        [WriteOutcome::Stored | WriteOutcome::Fenced]
    ));
    let loaded = store.load(&[key("A", HOUR)]).await.unwrap();
    let bucket = loaded[0].as_ref().unwrap();
    assert_eq!(bucket.version(), version(0, 2, 8));
    assert_eq!(&bucket.parts[0].elements, temps(0..20).elements());
}

#[tokio::test]
async fn a_server_that_never_answers_is_unavailable() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("mongodb://{}/silent", silent.local_addr().unwrap());
    let store = impatient(&uri);
    assert!(matches!(
        store.ping().await,
        Err(StoreError::Unavailable { .. })
    ));
}

#[test]
fn an_unreadable_connection_string_is_refused_without_its_password() {
    for uri in [
        "mongodb://user:hunter/2@localhost:27017",
        "mongodb://user:hunter2@localhost:hunter2",
        "mongodb://user:hunter%2@localhost",
        "http://user:hunter2@localhost",
        "hunter2@",
        "mongodb://user:hunter2@localhost/?w=-3&replicaSet",
    ] {
        let error = MongoStore::connect(uri, MongoSettings::default()).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{uri}");
        assert!(!error.to_string().contains("hunter"), "{error}");
    }
    let store =
        MongoStore::connect("mongodb://u:hunter2@localhost/x", MongoSettings::default()).unwrap();
    assert!(!format!("{store:?}").contains("hunter"));
}
