// The jobs that follow the wiki: what was edited every few minutes, everything twice an hour.
param location string
param tags object
param environmentId string
param image string
param registry string
param identity object
param vaultUri string
param variables object

var jobs = [
  // Edits.
  { name: 'frontdesk-changes', cron: '*/5 * * * *', arguments: ['--changes'], seconds: 1500 }
  // Deletions, moves and restrictions as well.
  { name: 'frontdesk-reconcile', cron: '7,37 * * * *', arguments: [], seconds: 21600 }
]

var secrets = [
  { name: 'database-url', variable: 'DATABASE_URL' }
  { name: 'confluence-token', variable: 'CONFLUENCE_TOKEN' }
]

var settings = union(variables, {
  AZURE_CLIENT_ID: identity.clientId
  FRONTDESK_DATA_DIR: '/data'
})

resource job 'Microsoft.App/jobs@2024-03-01' = [
  for one in jobs: {
    name: one.name
    location: location
    tags: tags
    identity: { type: 'UserAssigned', userAssignedIdentities: { '${identity.id}': {} } }
    properties: {
      environmentId: environmentId
      workloadProfileName: 'Consumption'
      configuration: {
        triggerType: 'Schedule'
        scheduleTriggerConfig: { cronExpression: one.cron, parallelism: 1, replicaCompletionCount: 1 }
        replicaTimeout: one.seconds
        replicaRetryLimit: 1
        registries: [{ server: registry, identity: identity.id }]
        secrets: [
          for secret in secrets: {
            name: secret.name
            keyVaultUrl: '${vaultUri}secrets/${secret.name}'
            identity: identity.id
          }
        ]
      }
      template: {
        containers: [
          {
            name: 'ingestion'
            image: image
            command: ['python', '-m', 'ingestion']
            args: concat(['sync', '--all'], one.arguments)
            resources: { cpu: json('1.0'), memory: '2Gi' }
            env: concat(
              map(items(settings), each => { name: each.key, value: each.value }),
              map(secrets, each => { name: each.variable, secretRef: each.name })
            )
            volumeMounts: [{ volumeName: 'data', mountPath: '/data' }]
          }
        ]
        volumes: [{ name: 'data', storageType: 'EmptyDir' }]
      }
    }
  }
]
