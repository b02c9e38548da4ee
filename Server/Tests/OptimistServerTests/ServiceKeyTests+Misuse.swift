// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// People who misuse a key.
extension ServiceKeyTests {
    @Test func `K3 a key opens no route of persons, and a person's token no route of programs`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            let forPrograms = ["/jmap", "/jmap/session", "/.well-known/jmap"]
            var refused = 0
            for operation in OpenAPI.operations where !operation.isPublic {
                let path = operation.path.replacing("{id}", with: "x")
                if operation.path.hasPrefix("/service") {
                    let answer = try await http.send(operation.method.rawValue, path, token: ann.access)
                    #expect(answer.status == 403, "\(operation.path)")
                } else if !forPrograms.contains(operation.path) {
                    let answer = try await http.send(operation.method.rawValue, path, token: job.text)
                    #expect(answer.status == 401, "\(operation.path)")
                    refused += 1
                }
            }
            #expect(refused >= 7)
            // It is not a refresh token or a reset token either.
            let token = try await http.form("/auth/token", "grant_type=refresh_token&refresh_token=\(job.text)")
            #expect(token.status == 400)
            let reset: JSON = ["token": .string(job.text), "newPassword": "battery staple"]
            #expect(try await http.post("/auth/reset-password", reset).json["reason"] == "invalid_reset")
            let sessions = try await http.get("/auth/sessions", token: ann.access)
            #expect(sessions.json["sessions"]?.array?.count == 1)
        }
    }

    @Test func `K3 a key from a page in a browser is refused, and no answer allows another origin`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            let body = job.request("List/set", Self.lists(1), in: ann.account)
            for origin in ["https://example.org", "null", http.base] {
                let headers = ["origin": origin, "content-type": "application/json"]
                for (method, path) in [("POST", "/jmap"), ("GET", "/jmap/session"), ("GET", "/service/accounts")] {
                    let answer = try await http.send(
                        method, path, token: job.text, headers: headers, body: method == "POST" ? body : nil)
                    #expect(answer.status == 403, "\(method) \(path)")
                    #expect(answer.headers.fields.keys.allSatisfy { !$0.hasPrefix("access-control") })
                }
                let question = headers.merging(["access-control-request-method": "POST"]) { $1 }
                let preflight = try await http.send("OPTIONS", "/jmap", headers: question)
                #expect(preflight.status >= 400)
                #expect(preflight.headers.fields.keys.allSatisfy { !$0.hasPrefix("access-control") })
            }
            #expect(try await job.call("List/get", ["ids": .null], in: ann.account)["list"] == [])
        }
    }

    @Test func `K3 after many wrong keys an address gets 429, and right keys still work`() async throws {
        try await serving(change: { $0.signInBurstPerAddress = 5 }) { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            var statuses: [Int] = []
            for _ in 1...7 {
                let wrong = Program(http: http, id: "", text: ServiceKeySecret().text)
                statuses.append(try await wrong.status(in: ann.account))
            }
            #expect(statuses == [401, 401, 401, 401, 401, 429, 429])
            #expect(try await job.status(in: ann.account) == 200)
        }
    }

    @Test func `K3 a program does not write as a device`() async throws {
        try await serving { server, http async throws in
            let ann = try await http.signUp()
            let job = try await make(server, http)
            let call = Invocation(
                "List/set", ["accountId": .string(ann.account), "create": Self.lists(1)["create"] ?? .null], callID: "0"
            )
            let requests = [
                Request(methodCalls: [call], device: "deviceAA", push: 1),
                Request(methodCalls: [call], device: "deviceAA"),
                Request(methodCalls: [call], groups: [["List:\(Self.list)"]]),
            ]
            for request in requests {
                let answer = try await http.post("/jmap", request.json.bytes, token: job.text)
                #expect(answer.status == 400 && answer.json["type"]?.string?.hasSuffix("notRequest") == true)
            }
            // Nor with the clocks of one.
            let clock = WriteClock.at(50_000, "deviceAA").description
            let row: JSON = ["name": "l", "@hlc": .string(clock), "@gen": 1]
            _ = try await job.call("List/set", ["create": [Self.list: row]], in: ann.account)
            let stored = try await job.call("List/get", ["ids": .null], in: ann.account)
            #expect("\(stored)".contains(job.device) && !"\(stored)".contains("deviceAA"))
        }
    }
}
