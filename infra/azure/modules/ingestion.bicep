// The jobs that follow the wiki: what was edited every few minutes, everything twice an hour. One more
// fills a new version of the index when it is told to.
param location string
param tags object
param environmentId string
param volume string
param image string
param registry string
param identity object
param vaultUri string
param variables object

var jobs = [
  // Edits.
  { name: 'frontdesk-changes', cron: '*/5 * * * *', arguments: ['sync', '--all', '--changes'], seconds: 1500 }
  // Deletions, moves and restrictions as well.
  { name: 'frontdesk-reconcile', cron: '7,37 * * * *', arguments: ['sync', '--all'], seconds: 21600 }
  // By hand, after another embedding model was chosen.
  { name: 'frontdesk-rebuild', cron: '', arguments: ['rebuild'], seconds: 86400 }
]

var once = { parallelism: 1, replicaCompletionCount: 1 }

var secrets = [
  { name: 'database-url', variable: 'DATABASE_URL' }
  { name: 'confluence-token', variable: 'CONFLUENCE_TOKEN' }
]

var settings = union(variables, {
  AZURE_CLIENT_ID: identity.clientId
  AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential'
  FRONTDESK_DATA_DIR: '/data'
  // Mapped into memory, which a network share is too unsteady for.
  FRONTDESK_CACHE_DIR: '/tmp/cache'
})
var plain = [for one in items(settings): { name: one.key, value: one.value }]
var referenced = [for one in secrets: { name: one.variable, secretRef: one.name }]
var references = [
  for one in secrets: {
    name: one.name
    keyVaultUrl: '${vaultUri}secrets/${one.name}'
    identity: identity.id
  }
]

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
        triggerType: empty(one.cron) ? 'Manual' : 'Schedule'
        manualTriggerConfig: empty(one.cron) ? once : null
        scheduleTriggerConfig: empty(one.cron) ? null : union(once, { cronExpression: one.cron })
        replicaTimeout: one.seconds
        // What failed is tried again by the next run of the schedule.
        replicaRetryLimit: 0
        registries: [{ server: registry, identity: identity.id }]
        secrets: references
      }
      template: {
        containers: [
          {
            name: 'ingestion'
            image: image
            command: ['python', '-m', 'ingestion']
            args: one.arguments
            // An attachment is read in a process of its own, which may take 2 GB.
            resources: { cpu: json('2.0'), memory: '4Gi' }
            env: concat(plain, referenced)
            volumeMounts: [{ volumeName: 'data', mountPath: '/data' }]
          }
        ]
        volumes: [
          {
            name: 'data'
            storageType: 'AzureFile'
            storageName: volume
            mountOptions: 'uid=10001,gid=10001,dir_mode=0500,file_mode=0400,nobrl'
          }
        ]
      }
    }
  }
]
