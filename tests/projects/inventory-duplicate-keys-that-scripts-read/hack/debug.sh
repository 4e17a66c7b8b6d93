envsubst < hack/debug/service.yaml | kubectl apply -f -
