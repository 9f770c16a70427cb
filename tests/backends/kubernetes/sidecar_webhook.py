#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves a mutating webhook that adds a container to each pod, as service meshes do.

usage: sidecar_webhook.py ADDRESS IMAGE

IMAGE must run for ever. Prints one line: its process id, its URL, and its certificate in base64.
"""
import base64
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile

address, image = sys.argv[1:]


def patched(container):
    return base64.b64encode(json.dumps([{'op': 'add', 'path': '/spec/containers/-', 'value': container}]).encode()).decode()


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        review['response'] = {'uid': review['request']['uid'], 'allowed': True, 'patchType': 'JSONPatch',
                              'patch': patched({'name': 'sidecar', 'image': image, 'imagePullPolicy': 'Never'})}
        del review['request']
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with tempfile.TemporaryDirectory() as folder:
    key, certificate = folder + '/key', folder + '/certificate'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=webhook',
                    '-addext', 'subjectAltName=IP:' + address, '-keyout', key, '-out', certificate],
                   check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with open(certificate, 'rb') as file:
        authority = base64.b64encode(file.read()).decode()
server = http.server.ThreadingHTTPServer((address, 0), Webhook)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(os.getpid(), f'https://{address}:{server.server_port}/', authority, flush=True)
server.serve_forever()
