#!/bin/sh
helm template web ./chart >old/web/deploy.yaml
