// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser

@main
struct OptimistCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "optimist",
        abstract: "Apps whose screens never wait for the network: the server, the lab and the tools.",
        version: "0.1.0",
        subcommands: [
            LabCommand.self, LabServerCommand.self, ServeCommand.self, AccountCommand.self, SpaceCommand.self,
            KeyCommand.self, ImportCommand.self, ViewsCommand.self, WebhookCommand.self, HealthCommand.self,
            InspectCommand.self, SchemaCommand.self, SecretCommand.self, EpochCommand.self,
            CopyCommand.self,
            BackupCommand.self, RestoreCommand.self, CheckCommand.self, VacuumCommand.self, SimulateCommand.self,
            ProxyCommand.self,
            GazetteerCommand.self, BenchCommand.self,
        ])
}
