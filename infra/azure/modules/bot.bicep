// The bot: answers, and takes events from Slack, Teams and browsers.
param location string
param tags object
param environmentId string
param environmentDomain string
param volume string
param image string
param registry string
param identity object
param vaultUri string
param hasConfluence bool
param hasSlack bool
param minReplicas int
param maxReplicas int
param variables object

var name = 'frontdesk'
var url = 'https://${name}.${environmentDomain}'

// The variable that each secret of the vault is given by.
var always = [
  { name: 'database-url', variable: 'DATABASE_URL' }
  { name: 'admin-token', variable: 'FRONTDESK_ADMIN_TOKEN' }
]
var wiki = [{ name: 'confluence-token', variable: 'CONFLUENCE_TOKEN' }]
var slack = [
  { name: 'slack-bot-token', variable: 'SLACK_BOT_TOKEN' }
  { name: 'slack-signing-secret', variable: 'SLACK_SIGNING_SECRET' }
]
var secrets = concat(always, hasConfluence ? wiki : [], hasSlack ? slack : [])

var settings = union(variables, {
  HOST: '0.0.0.0'
  PORT: '3978'
  PUBLIC_URL: url
  FRONTDESK_DATA_DIR: '/data'
  AZURE_CLIENT_ID: identity.clientId
  MICROSOFT_APP_ID: identity.clientId
  MICROSOFT_APP_TYPE: 'UserAssignedMSI'
  MICROSOFT_APP_TENANT_ID: identity.tenantId
  // The job looks after the wiki; `/reindex` in chat works here all the same.
  CONFLUENCE_SYNC_MINUTES: '0'
  CONFLUENCE_RECONCILE_MINUTES: '0'
})

resource app 'Microsoft.App/containerApps@2024-03-01' = {
  name: name
  location: location
  tags: tags
  identity: { type: 'UserAssigned', userAssignedIdentities: { '${identity.id}': {} } }
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      ingress: { external: true, targetPort: 3978, transport: 'auto', allowInsecure: false }
      registries: [{ server: registry, identity: identity.id }]
      secrets: [
        for one in secrets: {
          name: one.name
          keyVaultUrl: '${vaultUri}secrets/${one.name}'
          identity: identity.id
        }
      ]
    }
    template: {
      // The server finishes what it has in hand in 25 s.
      terminationGracePeriodSeconds: 40
      containers: [
        {
          name: 'bot'
          image: image
          resources: { cpu: json('1.0'), memory: '2Gi' }
          env: concat(
            map(items(settings), one => { name: one.key, value: one.value }),
            map(secrets, one => { name: one.variable, secretRef: one.name })
          )
          volumeMounts: [{ volumeName: 'data', mountPath: '/data' }]
          probes: [
            {
              type: 'Startup'
              httpGet: { path: '/health', port: 3978 }
              periodSeconds: 3
              failureThreshold: 40
            }
            {
              type: 'Liveness'
              httpGet: { path: '/health', port: 3978 }
              periodSeconds: 20
              timeoutSeconds: 5
              failureThreshold: 3
            }
            {
              type: 'Readiness'
              httpGet: { path: '/ready', port: 3978 }
              periodSeconds: 10
              timeoutSeconds: 5
              failureThreshold: 3
            }
          ]
        }
      ]
      scale: {
        minReplicas: minReplicas
        maxReplicas: maxReplicas
        rules: [
          { name: 'requests', http: { metadata: { concurrentRequests: '40' } } }
          { name: 'cpu', custom: { type: 'cpu', metadata: { type: 'Utilization', value: '70' } } }
        ]
      }
      volumes: [{ name: 'data', storageType: 'AzureFile', storageName: volume }]
    }
  }
}

output url string = url
