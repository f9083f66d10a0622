FROM rust:1.95-trixie AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin hourglass

FROM debian:trixie-slim
RUN useradd --system --create-home --home-dir /var/lib/hourglass hourglass
COPY --from=build /src/target/release/hourglass /usr/local/bin/hourglass
USER hourglass
WORKDIR /var/lib/hourglass
VOLUME /var/lib/hourglass
EXPOSE 8080 8094/udp
ENTRYPOINT ["hourglass"]
