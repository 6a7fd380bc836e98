# One node of Grapevine. cluster/compose.yaml and cluster/kubernetes.yaml run several.
#
#   docker build -t grapevine .
#   docker run --rm grapevine node --help
#
# Without other words it runs a node that nobody beyond its container reaches: for more than that a
# node needs a key.

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        esbuild libcurl4-openssl-dev libidn2-dev libncurses-dev libsimdjson-dev libsodium-dev \
        libsqlite3-dev libssl-dev libunistring-dev libuv1-dev libxxhash-dev pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /grapevine
COPY Package.swift ./
COPY Sources ./Sources
# The package names its tests: they have to be there, and are not built.
COPY Tests ./Tests
RUN Sources/Web/bundle && swift build -c release --product grapevine -Xlinker -s \
    && install .build/release/grapevine /usr/local/bin/

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates libcurl4 libidn2-0 libncursesw6 libsimdjson14 libsodium23 \
        libsqlite3-0 libssl3 libstdc++6 libunistring2 libuv1 libxxhash0 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home grapevine \
    && install -d -o grapevine -g grapevine -m 0700 /data
COPY --from=build /usr/local/bin/grapevine /usr/local/bin/grapevine
USER 10001:10001
VOLUME /data
# 7101 for other nodes, 7201 for clients; where --http and --ops say so, 7301 for apps, and 7401 for
# probes and figures.
EXPOSE 7101 7201 7301 7401
# Who answers OK to READY at the admin port should get requests. GRAPEVINE_KEY_FILE is the key of
# that port, where it has one, as it has wherever it can be reached from beyond this container.
ENV GRAPEVINE_KEY_FILE=
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
    CMD grapevine ask ${GRAPEVINE_KEY_FILE:+--key-file "$GRAPEVINE_KEY_FILE"} 127.0.0.1:7201 READY
# The node is process 1: it takes SIGTERM itself and stops within 5 s.
ENTRYPOINT ["grapevine"]
CMD ["node", "--name", "n1", "--data", "/data", "--gossip", "127.0.0.1:7101", \
    "--admin", "127.0.0.1:7201"]
